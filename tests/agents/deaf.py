"""Never answers a prompt, not even after a cancel."""

import wire


def prompt(_):
    wire.say("hm")
    while True:
        wire.receive()


wire.run(prompt)
