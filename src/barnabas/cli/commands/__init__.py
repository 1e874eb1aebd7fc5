"""The commands of `barnabas`: one file per noun, named as in the table of `cli.main`."""
