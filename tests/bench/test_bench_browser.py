"""The tiny report in a real browser, at a desktop's and a phone's width: every figure is there, nothing is too wide."""

from __future__ import annotations

import html
import json
import re
import subprocess

import pytest
from chromium import CHROMIUM, NAMES

from bench.figures import WIDTH

# The page runs in a frame of the wanted width, since a browser's window has a least width; the frame is measured from
# outside. What scrolls within itself may be wider inside.
PROBE = """<!doctype html><body style="margin:0"><iframe id="frame" width="{width}" height="800" style="border:0"
srcdoc="{page}"></iframe><pre id="found"></pre><script>
document.getElementById("frame").onload = function () {{
  const inner = this.contentDocument, root = inner.documentElement;
  for (const each of inner.querySelectorAll("details")) each.open = true;
  const wide = [...inner.body.querySelectorAll("*")].filter(e => !e.closest(".scroll > *") && !e.closest("svg > *")
    && e.getBoundingClientRect().right > {width} + 1).map(e => e.outerHTML.slice(0, 80));
  const figures = [...inner.querySelectorAll("figure")].map(figure => {{
    const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect();
    const paths = [...svg.querySelectorAll("path, use")].filter(e => e.getBoundingClientRect().width > 0).length;
    return {{id: figure.id, width: box.width, height: box.height, paths: paths, ink: getComputedStyle(svg).color}};
  }});
  const hidden = [...inner.querySelectorAll("h2, h3, p")].filter(e => !e.getBoundingClientRect().height).length;
  document.getElementById("found").textContent = JSON.stringify(
    {{scroll: root.scrollWidth, client: root.clientWidth, wide, figures, hidden}});
}};
</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason=f"no browser: none of {', '.join(NAMES)} is on the PATH")
@pytest.mark.parametrize("width", [1280, 360])
def test_page_in_a_browser(tiny, tmp_path, width):
    page = (tiny.folder / "index.html").read_text(encoding="utf-8")
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(width=width, page=html.escape(page)), encoding="utf-8")
    words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
             "--virtual-time-budget=10000", "--window-size=1400,900", "--dump-dom", probe.as_uri()]  # fmt: skip
    done = subprocess.run([CHROMIUM, *words], capture_output=True, text=True, timeout=120, check=True)
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', done.stdout, re.DOTALL)[1]))
    assert found["wide"] == []
    assert found["scroll"] <= found["client"] <= width
    assert [each["id"] for each in found["figures"]] == re.findall(r'<figure id="([^"]+)">', page)
    for figure in found["figures"]:
        assert figure["width"] > 0.8 * min(width, 72 * WIDTH)
        assert figure["height"] > 0.25 * figure["width"]
        assert figure["paths"] > 20
    assert found["hidden"] == 0
