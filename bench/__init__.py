"""The experiments: every table and figure of the papers, measured, drawn and compared; and our own questions.

``python -m bench NAME... --output FOLDER`` runs experiments, from a clone. Those of the papers are one module each of
``bench.experiments``; our own questions, whose answer is a table, stand several in a module (``questions.py``). This
page is the interface that both are written against; ``experiments/sizes.py`` is a short one.

An experiment is a module with
------------------------------
``NAME``, ``TITLE``, ``SOURCE``, ``QUESTION``, ``METHOD``
    text: the name on the command line (``blue-red`` is ``blue_red.py``), a heading, the paper and figure, what was
    asked, how it is measured.
``tasks(setting) -> list[Task]``
    what to measure, ordered by graph. Cheap: it makes no graph. Sizes depend on ``setting.size`` alone; "tiny" is a few
    seconds for all tasks together.
``measure(task, setting) -> dict``
    one measurement, in types that JSON has. ``"seconds"`` is the list of every repeat, and the least counts; all else
    is kept as the result. A ``TrothError`` or ``MemoryError`` is stored as the reason why there is none.
``present(records, page)``
    figures, tables, findings and claims from what was stored, of *one* machine and *one* size; never empty, but any
    task may be missing (interrupted, failed, left out), so it looks at what is there. It measures nothing.
``RECORDS``
    only where an experiment presents what another measures: the name of that one, whose ``tasks`` and ``measure`` it
    takes over (``speedups`` and ``runtimes``).
``JUDGED``
    only where claims are judged by more than ``verdicts.py`` says: a text that ``docs/claims.md`` prints above them.

Module level imports are light: troth itself, NumPy and matplotlib are imported inside functions or by the helpers.

``Task(graph="", engine="", params={}, cost=1.0)`` (``setting.py``)
    ``graph`` is an instance's name or a spec, ``engine`` a contender's name, ``params`` the experiment's own (small,
    plain values); together they are the key. ``cost``: about the seconds it takes, for the bar's estimate alone.

``Setting`` (``setting.py``)
    asked for: ``size`` ("tiny", "small", "full"), ``repeats`` (10), ``seed``, ``threads`` (None: all cores),
    ``workers`` (the same as a number)

    there: ``cores``, ``thread_counts`` (1, 2, 4, ... and all of them), ``memory`` (bytes), ``most_edges`` (of this size
    on this machine), ``gpu`` (``{"name", "memory"}`` or None), ``mpiexec`` (path or None), ``peers`` (``{"networkit":
    True, ...}``), ``patience`` (seconds after which a measurement is not repeated further)

    graphs: ``instances`` (of this size, under ``--graphs`` and ``--folder``; each has ``name family spec vertices
    edges``, the last two nominal), ``between(least, most)`` (of these, by edges), ``find(name)``, ``load(name,
    device="cpu")`` (a ``Graph``; the latest is held until ``let_go()``)

    engines: ``able(names)`` keeps the contenders that ``--engines`` asks for and this machine can run, and notes why
    others are left out; ``wants(name)`` is the first half of that, for peers; ``leave_out(what, reason)`` the second

    time: ``match(graph_or_name, engine, **words)`` times a contender on its device as the paper does, verifies the
    matching, and returns ``seconds call weight cardinality mates stats phases``, ready to be returned by ``measure``
    (``budget``: less patience);
    ``repeat(call, repeats=None, budget=None)`` times anything else and returns every repeat; ``setting.digest(mate)``,
    of the module, tells matchings apart

Contenders (``engines.py``)
    an engine with options, in one word: ``suitor@cpu``, ``suitor@cpu:threads=2``, ``locally-dominant@cuda``,
    ``suitor@cuda:variant=nosync,vertices_per_warp=16``. ``engines.label(name)`` is what figures call it ("GPU-LD").

A record, as ``present`` gets it, is a dict: ``graph engine params seconds result`` (what ``measure`` returned, without
``seconds``), and ``experiment key size machine seed repeats commit run``. ``store.least(records)`` maps
``(graph, engine)`` to the least seconds; ``store.by_engine(records)`` is the same, as ``[engine][graph]``, and
``store.common(times, engines)`` the graphs that all of them have.

``Page`` (``report.py``)
    ``page.figure(figure, name, caption)`` saves PNG and SVG and shows it; ``page.table(rows, caption)`` (list of
    dicts); ``page.finding(sentence)`` what the numbers say, computed from them; ``page.claim(paper, ours, verdict)``
    what the paper says (no full stop at the end), what was measured here, and "held", "exceeded", "not held" (and
    ``why=``), "differs" (not comparable) or "not tested" (this machine cannot): ``verdicts.py`` has the rule, which
    the report prints; ``page.note(text)``;
    ``page.machine`` (facts), ``page.size``

Figures (``figures.py``)
    ``figure, ax = figures.new()``, or ``figure, (above, below) = figures.new(2)`` for panels, which stand one below
    another: the page must be readable on a phone. ``figures.style(i)`` and ``styles(names)`` give colour, marker and
    dashes together; always use them. Helpers: ``sorted_curves``, ``performance_profile``, ``scaling`` (with ideal),
    ``bars``, ``shares`` and ``dots`` (horizontal, long names stay legible), ``legend(ax)`` (below the axes),
    ``legend_below(figure)`` (one for all panels), ``whole_numbers(ax)``, ``duration(seconds)`` (for sentences). Label
    both axes, with units.
"""
