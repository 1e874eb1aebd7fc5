import subprocess
import sys


def test_kio_is_loaded_without_hypothesis_which_stays_importable() -> None:
    program = (
        "import sys\n"
        "from barnabas.base.light_kio import import_kio_lightly\n"
        "import_kio_lightly()\n"
        "import kio.schema.errors\n"
        "print('hypothesis' in sys.modules)\n"
        "import hypothesis\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "False\n"


def test_hypothesis_that_is_in_use_is_left_alone() -> None:
    program = (
        "import sys, hypothesis\n"
        "from barnabas.base.light_kio import import_kio_lightly\n"
        "import_kio_lightly()\n"
        "print(sys.modules['hypothesis'] is hypothesis)\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "True\n"
