"""A test of what the GPU did, as an analysis of an SQLite export has it."""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from support import SOURCE, Case, run  # noqa: E402
from gpu_model import Comparison, Export, Model  # noqa: E402

NATIVE = ("-q", "--engine", "native", "--no-export", "--no-reports", "-o", "-")


class GpuCase(Case):
    def trace(self):
        """Where the export of a new run goes."""
        directory = self.top / "run"
        directory.mkdir(exist_ok=True)
        (directory / "trace.sqlite").unlink(missing_ok=True)
        return directory / "trace.sqlite"

    def generated(self, *options):
        """An export as nsys makes it, whose capture range is `profile-target`."""
        path = self.trace()
        done = run([sys.executable, SOURCE / "testdata" / "generate_export.py", *options, path])
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def analysis_of(self, path, capture_range="capture", options=()):
        self.write(path.parent / "manifest.yaml", f"capture_range: {capture_range}\n")
        return json.loads(self.analyze(path.parent, *NATIVE, *options).stdout)

    def assert_as_the_model(self, path, capture_range="capture"):
        """Gives how many numbers were compared."""
        comparison = Comparison()
        comparison.analysis(self.analysis_of(path, capture_range),
                            Model(Export(path), capture_range).analysis())
        self.assertEqual(comparison.differences, [])
        return comparison.numbers
