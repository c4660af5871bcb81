"""A month of a plant as its engineers have it: German CSV, an irregular clock, a hole, maintenance, incidents apart."""

from __future__ import annotations

import datetime as dt

import numpy as np

_DATE = "%d.%m.%Y %H:%M:%S"
HOLE = dt.datetime(2026, 3, 6), dt.datetime(2026, 3, 8)


def write_plant(folder):
    """Write scores, alarms, incidents and maintenance; return the incidents."""
    rng = np.random.default_rng(1)
    places = [(1, 4), (3, 9), (4, 1), (8, 22), (10, 5), (13, 6), (15, 7), (18, 12), (20, 3), (25, 8)]
    begins = [dt.datetime(2026, 3, 1 + day, hour) for day, hour in places]
    incidents = [(begin, begin + dt.timedelta(minutes=int(rng.integers(30, 200)))) for begin in begins]
    now, rows = dt.datetime(2026, 3, 1), []
    while now < dt.datetime(2026, 3, 29):
        if not HOLE[0] < now < HOLE[1]:
            is_near = any(start - dt.timedelta(minutes=20) <= now <= stop for start, stop in incidents)
            rows.append((now, 20 + rng.normal(), abs(rng.normal()) + 2.2 * is_near))
        now += dt.timedelta(minutes=int(rng.integers(4, 7)), seconds=int(rng.integers(0, 60)))

    def write(name, header, lines):
        (folder / name).write_text("\n".join([header, *lines, ""]))

    def comma(number):
        return f"{number:.4f}".replace(".", ",")

    write("werte.csv", "Zeitstempel;Temperatur;Score", [f"{t:{_DATE}};{comma(v)};{comma(s)}" for t, v, s in rows])
    write("alarme.csv", "Zeit;Text", [f"{t:{_DATE}};hoch" for t, _, s in rows if s > 3.0])
    write("strenger.csv", "Zeit;Text", [f"{t:{_DATE}};hoch" for t, _, s in rows if s > 3.9])
    kinds = ["Lager", "Pumpe"] * 5
    lines = [f"{start:{_DATE}};{stop:{_DATE}};{kind}" for (start, stop), kind in zip(incidents, kinds, strict=True)]
    write("stoerungen.csv", "Beginn;Ende;Art", lines)
    write("wartung.csv", "Von;Bis", ["12.03.2026 08:00;12.03.2026 16:00", "26.03.2026 07:00;26.03.2026 12:00"])
    return incidents
