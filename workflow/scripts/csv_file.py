"""A CSV file of config/: rows of fixed columns, every mistake one message that names the file and the line."""

import csv


def read(path, columns, mistake):
    """[(file and line, {column: text})] of the file's rows. Raises mistake, an exception class, for any other file."""
    try:
        with open(path, newline="", encoding="utf-8") as lines:
            reader = csv.DictReader(lines)
            if reader.fieldnames != columns:
                raise mistake(f"{path}: columns must be {','.join(columns)}, not {reader.fieldnames}")
            rows = [(f"{path}: line {reader.line_num}", row) for row in reader]
    except UnicodeDecodeError as error:
        raise mistake(f"{path}: must be UTF-8 text ({error.reason} at byte {error.start})") from None
    except csv.Error as error:
        raise mistake(f"{path}: line {reader.line_num}: cannot be read as CSV ({error})") from None
    except OSError as error:
        raise mistake(f"{path}: cannot be read ({error.strerror or error})") from None
    for place, row in rows:
        if None in row or None in row.values():
            raise mistake(f"{place}: must have the columns {','.join(columns)}, no more and no fewer")
    return rows
