"""Never answers a prompt, whatever it is told."""

import wire


def prompt(_):
    wire.say("hm")
    while True:
        wire.receive()


wire.run(prompt)
