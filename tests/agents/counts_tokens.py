"""Reports at the end of each turn the tokens in the prompt: ``INPUT OUTPUT``, or ``quota INPUT OUTPUT``."""

import wire


def prompt(request):
    *quota, read, written = request["params"]["prompt"][0]["text"].split()
    if quota:
        tokens = {"input_tokens": int(read), "output_tokens": int(written)}
        usage = {"_meta": {"quota": {"token_count": tokens, "model_usage": []}}}
    else:
        total = int(read) + int(written)
        usage = {"usage": {"inputTokens": int(read), "outputTokens": int(written), "totalTokens": total}}
    wire.answer(request, {"stopReason": "end_turn", **usage})


wire.run(prompt)
