"""The data of each part; `--quick` takes smaller ones, `--only` some of them."""

import argparse
from collections.abc import Iterator

from datasets import SOURCES, Dataset, Source, load, load_text, text_source

BY_NAME = {source.name: source for source in SOURCES}


def loaded(arguments: argparse.Namespace, wanted: list[Source]) -> Iterator[Dataset]:
    """The data sets asked for, one in memory at a time."""
    for source in filter(lambda source: is_asked_for(arguments, source), wanted):
        yield load_text(source, arguments.ddiht) if source.synthetic[0] else load(source, arguments.data)


def is_asked_for(arguments: argparse.Namespace, source: Source) -> bool:
    """Whether `--only` names it, or nothing."""
    return not arguments.only or any(source.name.startswith(name) for name in arguments.only)


def convex(arguments: argparse.Namespace) -> Iterator[Dataset]:
    """For k = d."""
    if arguments.quick:
        return loaded(arguments, [BY_NAME["reuters"], text_source(5_000, 10_000)])
    return loaded(arguments, [*named("reuters", "imdb", "ng20"), text_source(200_000)])


def sparse(arguments: argparse.Namespace) -> Iterator[Dataset]:
    """For k features."""
    if arguments.quick:
        return loaded(arguments, [text_source(2_000, 5_000)])
    return loaded(arguments, [*named("imdb", "ng20"), text_source(20_242), text_source(200_000)])


def named(*names: str) -> list[Source]:
    """Data sets of the directory."""
    return [BY_NAME[name] for name in names]
