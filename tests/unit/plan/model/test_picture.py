"""The picture of an app, as Mermaid text and as SVG."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from penstock.plan.model.declare import Declaration, Declared, Sink, Stream, Table, View
from penstock.plan.model.nodes import Join, Scan
from penstock.plan.model.picture import mermaid, picture
from penstock.plan.model.svg import draw
from penstock.schema import Schema

ODD = 'a"<b>&`;\x07'


def app(*declarations: Declaration) -> Declared:
    return Declared("shop", Path("."), {declaration.name: declaration for declaration in declarations})


def shop(view: str = "sums") -> Declared:
    return app(
        Stream("payments", Schema(()), {"connector": "kafka"}),
        Table("countries", Schema(()), {"connector": "files"}),
        View(view, Join(Scan("Payments"), Scan("countries"), using=("country",))),
        View("top", Scan(view)),
        Sink("out", "top", {"connector": "postgres"}),
    )


def test_everything_stands_to_the_right_of_what_it_reads() -> None:
    drawn = picture(shop(), {"sums": "incremental", "top": "cut"})
    assert [[box.name for box in column] for column in drawn.columns] == [["payments", "countries"], ["sums"], ["top"], ["out"]]
    assert drawn.arrows == (("payments", "sums"), ("countries", "sums"), ("sums", "top"), ("top", "out"))
    assert [box.label for column in drawn.columns for box in column] == ["kafka", "files", "incremental", "cut", "postgres"]


def test_mermaid_names_every_box_and_arrow() -> None:
    text = mermaid(picture(shop(), {"sums": "incremental"}))
    assert text.startswith("flowchart LR\n")
    assert '(["payments<br/><small>kafka</small>"]):::stream' in text
    assert "n0 --> n2" in text
    assert "n1 --> n2" in text


def test_mermaid_labels_cannot_be_broken_by_a_name() -> None:
    label = mermaid(picture(shop(ODD), {})).splitlines()[3]
    assert label.count('"') == 2
    assert "<b>" not in label


def test_svg_is_well_formed_whatever_the_names_are() -> None:
    root = ElementTree.fromstring(draw(picture(shop(ODD), {ODD: "cut"})))
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert 'a"<b>&`;�' in texts
    assert "view · cut" in texts
    assert len(list(root.iter("{http://www.w3.org/2000/svg}rect"))) == 1 + 5


def test_svg_follows_the_theme_of_the_reader() -> None:
    assert "prefers-color-scheme: dark" in draw(picture(shop(), {}))


def test_boxes_of_a_column_do_not_overlap() -> None:
    many = app(*(Stream(f"s{n}", Schema(()), {"connector": "socket"}) for n in range(12)))
    root = ElementTree.fromstring(draw(picture(many, {})))
    tops = sorted(float(rect.attrib["y"]) for rect in root.iter("{http://www.w3.org/2000/svg}rect") if "y" in rect.attrib)
    assert all(below - above > 46 for above, below in itertools.pairwise(tops))


def test_an_app_that_declares_nothing_has_a_picture_too() -> None:
    ElementTree.fromstring(draw(picture(app(), {})))
    assert mermaid(picture(app(), {})) == "flowchart LR\n"


def test_a_live_picture_has_a_place_for_the_rate_of_each_arrow_and_links() -> None:
    drawn = picture(shop(), {})
    root = ElementTree.fromstring(draw(drawn, live=True, links={"sums": '/views/a"b'}))
    rates = [element for element in root.iter("{http://www.w3.org/2000/svg}text") if element.get("class") == "rate"]
    assert [rate.get("data-arrow") for rate in rates] == ["0", "1", "2", "3"]
    assert [element.get("href") for element in root.iter("{http://www.w3.org/2000/svg}a")] == ['/views/a"b']
