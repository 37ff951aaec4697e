"""A plug-in as a stranger would publish it: a tool, a command, a word of `%agents`, a request and a form of export."""

from __future__ import annotations

import argparse

import msgspec

from agentnb.command import OK, Command
from agentnb.ports import Exporter, Magic, Plugin, Request, Tool, ToolSession

WEATHER = {"Paris": "rain", "Cairo": "sun"}


class WeatherParams(msgspec.Struct):
    place: str


class WeatherResult(msgspec.Struct):
    weather: str


def weather_of(place: str) -> str:
    return WEATHER[place]


async def look(session: ToolSession, arguments: dict[str, str]) -> str:
    if arguments.get("change"):
        await session.authorize("Change the weather", f"change-weather {arguments['place']}")
    return weather_of(arguments["place"])


def answer(params: WeatherParams) -> WeatherResult:
    return WeatherResult(weather=weather_of(params.place))


def run(arguments: argparse.Namespace) -> int:
    print(" ".join(f"{place}: {weather_of(place)}" for place in arguments.words))
    return OK


PARAMETERS = {"type": "object", "properties": {"place": {"type": "string"}, "change": {"type": "boolean"}}}
PLUGIN = Plugin(
    name="weather",
    summary="Adds the weather.",
    commands=(Command("weather", "Says the weather.", "", run, words=("PLACE", "a place")),),
    magics=(Magic("weather", weather_of),),
    tools=(Tool("weather", "Says the weather of a place.", PARAMETERS, look, reads_only=True),),
    requests=(Request("weather/look", WeatherParams, WeatherResult, answer),),
    exporters=(Exporter("shout", str.upper),),
)
