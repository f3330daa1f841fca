// The heaviest matching of a graph, by LEMON (Debian: liblemon-dev), with whole numbers as weights.
//
//     g++ -O2 -std=c++17 -o optimum optimum.cpp
//     ./optimum EDGES MATES
//
// EDGES is binary, in the machine's byte order: n and m as int64, then the lower ends (m times int32), the upper ends
// (m times int32) and the weights (m times int64). MATES is written: n times int32, -1 where a vertex is alone. One line
// is printed: the weight of the matching. LEMON finds it with a dual solution, whose value must be the same; where it is
// not, nothing is written and the exit code is 1.

#include <lemon/matching.h>
#include <lemon/smart_graph.h>

#include <cstdint>
#include <cstdio>
#include <vector>

using Graph = lemon::SmartGraph;
using Weights = Graph::EdgeMap<std::int64_t>;
using Matching = lemon::MaxWeightedMatching<Graph, Weights>;

template <class T>
static std::vector<T> read(std::FILE* file, std::size_t count) {
    std::vector<T> values(count);
    if (std::fread(values.data(), sizeof(T), count, file) != count) values.clear();
    return values;
}

static int refuse(const char* path, const char* reason) {
    std::fprintf(stderr, "%s: %s\n", path, reason);
    return 1;
}

int main(int count, char** words) {
    if (count != 3) return refuse(words[0], "takes a file of edges and a file for mates");
    std::FILE* edges = std::fopen(words[1], "rb");
    if (!edges) return refuse(words[1], "cannot be opened");
    auto sizes = read<std::int64_t>(edges, 2);
    if (sizes.empty()) return refuse(words[1], "has no sizes");
    std::size_t n = sizes[0], m = sizes[1];
    auto low = read<std::int32_t>(edges, m), high = read<std::int32_t>(edges, m);
    auto weight = read<std::int64_t>(edges, m);
    std::fclose(edges);
    if (low.size() != m || high.size() != m || weight.size() != m) return refuse(words[1], "is too short");

    Graph graph;
    graph.reserveNode(n);
    graph.reserveEdge(m);
    for (std::size_t v = 0; v < n; v++) graph.addNode();
    for (std::size_t e = 0; e < m; e++) graph.addEdge(graph.nodeFromId(low[e]), graph.nodeFromId(high[e]));
    Weights weights(graph);
    for (std::size_t e = 0; e < m; e++) weights[graph.edgeFromId(e)] = weight[e];

    Matching matching(graph, weights);
    matching.run();  // begins with the fractional matching
    if (matching.dualValue() != matching.matchingWeight() * Matching::dualScale)
        return refuse(words[1], "the dual solution does not prove the matching");

    std::vector<std::int32_t> mates(n, -1);
    for (std::size_t v = 0; v < n; v++) {
        Graph::Node mate = matching.mate(graph.nodeFromId(v));
        if (mate != lemon::INVALID) mates[v] = graph.id(mate);
    }
    std::FILE* file = std::fopen(words[2], "wb");
    if (!file || std::fwrite(mates.data(), sizeof(std::int32_t), n, file) != n || std::fclose(file))
        return refuse(words[2], "cannot be written");
    std::printf("%lld\n", static_cast<long long>(matching.matchingWeight()));
}
