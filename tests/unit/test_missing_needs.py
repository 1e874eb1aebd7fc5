from pathlib import Path

import pytest


@pytest.fixture
def suite(pytester: pytest.Pytester, project: Path) -> pytest.Pytester:
    pytester.makeconftest((project / "tests" / "conftest.py").read_text())
    pytester.makeini("[pytest]\nmarkers =\n    needs(*names): x\n    maven: x\n")
    return pytester


def test_test_without_its_program_is_skipped_and_listed_with_the_remedy(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest
        @pytest.mark.needs("json", "no_such_module")
        def test_it(): raise AssertionError
        """
    )
    result = suite.runpytest("-p", "no:randomly")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        [
            "*not run here, because something is missing*",
            "no_such_module (to get it: make dev): 1 test",
            "*test_it*",
        ]
    )


def test_nothing_is_listed_when_nothing_is_missing(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        """
        import pytest
        @pytest.mark.needs("json")
        def test_it(): pass
        """
    )
    result = suite.runpytest("-p", "no:randomly")
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*not run here*")
