"""The growth as a picture: time and memory by the number of ranges, both axes logarithmic. It is
written by hand, as SVG that is legible on light and on dark ground."""
import collections
import math

Point = collections.namedtuple("Point", "ranges scan_s analyze_s bytes_a_range")

WIDTH, HEIGHT = 820, 360
STYLE = """\
  text { font: 12px sans-serif; fill: #1f2328; stroke: #ffffff; stroke-width: 3;
         paint-order: stroke }
  .title { font-weight: bold }
  .ground { fill: #ffffff }
  .grid { stroke: #d0d7de; fill: none }
  .line { fill: none; stroke-width: 2 }
  .analyze { stroke: #0969da }
  .scan { stroke: #9a6700 }
  .reference { stroke: #656d76 }
  .line.scan { stroke-dasharray: 6 3 }
  .line.reference { stroke-dasharray: 2 4 }
  circle { fill: #ffffff; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; stroke: #0d1117 }
    .ground { fill: #0d1117 }
    .grid { stroke: #30363d }
    .analyze { stroke: #58a6ff }
    .scan { stroke: #d29922 }
    .reference { stroke: #8b949e }
    circle { fill: #0d1117 }
  }
"""


def power(exponent):
    """10 to that, as one reads it."""
    names = {3: "k", 6: "M"}
    whole = exponent - exponent % 3
    return f"{10.0 ** exponent:g}" if exponent < 3 else f"{10 ** (exponent - whole)} {names[whole]}"


class Panel:
    """One diagram: where values are on the page, and what has been drawn."""

    def __init__(self, left, title, xs, ys, legend):
        self.left, self.right, self.top, self.bottom = left, left + 330, 45, HEIGHT - 45
        self.x_range, self.y_range = (self.decades(values) for values in (xs, ys))
        self.legend_x, self.legend_y = left + legend, self.top + 16
        self.parts = []
        self.text(left, 25, title, "title")
        for n in range(self.x_range[0], self.x_range[1] + 1):
            x = self.x(10 ** n)
            self.parts.append(f'<path class="grid" d="M{x:.1f} {self.top}V{self.bottom}"/>')
            self.text(x, self.bottom + 18, power(n), anchor="middle")
        for n in range(self.y_range[0], self.y_range[1] + 1):
            y = self.y(10.0 ** n)
            self.parts.append(f'<path class="grid" d="M{self.left} {y:.1f}H{self.right}"/>')
            self.text(self.left - 6, y + 4, power(n), anchor="end")
        self.text((self.left + self.right) / 2, self.bottom + 36, "ranges", anchor="middle")

    @staticmethod
    def decades(values):
        low, high = (math.log10(f(v for v in values if v > 0)) for f in (min, max))
        return math.floor(low), max(math.ceil(high), math.floor(low) + 1)

    def x(self, value):
        low, high = self.x_range
        return self.left + (math.log10(value) - low) / (high - low) * (self.right - self.left)

    def y(self, value):
        low, high = self.y_range
        return self.bottom - (math.log10(value) - low) / (high - low) * (self.bottom - self.top)

    def text(self, x, y, text, kind="label", anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" '
                          f'text-anchor="{anchor}">{text}</text>')

    def line(self, kind, label, points, marks=True):
        """A line, and its name in the legend. What is not above 0 has no place."""
        places = [(self.x(x), self.y(y)) for x, y in points if y > 0]
        way = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        if places:
            self.parts.append(f'<path class="line {kind}" d="M{way}"/>')
        for x, y in places if marks else ():
            self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>')
        self.parts.append(f'<path class="line {kind}" d="M{self.legend_x} {self.legend_y}h28"/>')
        self.text(self.legend_x + 36, self.legend_y + 4, label)
        self.legend_y += 18


def draw(points):
    xs = [p.ranges for p in points]
    last = points[-1]
    linear = [(x, last.analyze_s * x / last.ranges) for x in (xs[0], xs[-1])]
    time = Panel(60, "seconds", xs, [y for p in points for y in (p.scan_s, p.analyze_s)] +
                 [y for _, y in linear], legend=14)
    time.line("reference", "linear, through the last", linear, marks=False)
    time.line("scan", "scan by sqlite3", [(p.ranges, p.scan_s) for p in points])
    time.line("analyze", "nvtxa analyze", [(p.ranges, p.analyze_s) for p in points])
    memory = Panel(470, "peak memory, bytes a range", xs, [48, *(p.bytes_a_range for p in points)],
                   legend=190)
    memory.line("reference", "target: 48", [(xs[0], 48), (xs[-1], 48)], marks=False)
    memory.line("analyze", "nvtxa analyze", [(p.ranges, p.bytes_a_range) for p in points])
    body = "\n".join(time.parts + memory.parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'width="{WIDTH}" height="{HEIGHT}" role="img">\n<title>Time and memory by the number '
            f'of ranges</title>\n<style>\n{STYLE}</style>\n'
            f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}"/>\n{body}\n</svg>\n')
