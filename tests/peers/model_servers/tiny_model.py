"""Writes a language model of half a megabyte whose weights are set by hand, for real model servers.

Run in an environment with `gguf` and `numpy`: ``python tiny_model.py FILE`` or ``… FILE plain``; the plain chat
template has no tools. Its answers are in `ANSWERS`, so a test knows them.

How it answers: each token leads to one next token, as in a chain. The only layer decides which chain begins: its
attention looks for the words in `ANSWERS` in the whole prompt and takes the last of them in that table. All
other tokens of a prompt are letters and bytes, which lead nowhere. Without one of the words it answers `HELLO`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

CONTEXT = 65_536
"""The model's context, in tokens; a server may be set to a smaller one."""
HELLO = ("Hello", " from", " a real", " server.")
ANSWERS: dict[str, tuple[str, ...]] = {
    "STORY": ("Once", " upon", " a", " time", " there", " was,", " and"),
    "PONDER": ("<think>", "\nI", " wonder.", "</think>", "\n\nBecause", " it is", " so."),
    "READ-IT": (
        *("<tool_call>", '\n{"name": "', "read_file", '", "arguments": {"path": "', "numbers", ".csv", '"}}\n'),
        "</tool_call>",
    ),
    "<tool_response>": ("The file", " has", " been", " read."),
}
"""The answers to prompts with a word; of several words, the one lower in this table counts. The story never ends."""
ENDLESS = "STORY"
TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")

UNKNOWN, BEGIN, END, ASSISTANT = "<unk>", "<s>", "</s>", "<|im_start|>assistant\n"
TEMPLATE = """\
{%- if tools %}
    {{- '<|im_start|>system\\n' }}
    {%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
    {{- "# Tools\\n\\nYou may call one or more functions to assist with the user query.\\n\\n<tools>" }}
    {%- for tool in tools %}{{- "\\n" }}{{- tool | tojson }}{%- endfor %}
    {{- "\\n</tools>\\n\\nFor each function call, return a json object within <tool_call></tool_call> XML tags:\\n\
<tool_call>\\n{\\"name\\": <function-name>, \\"arguments\\": <args-json-object>}\\n</tool_call></s>\\n" }}
{%- elif messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '</s>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- '<|im_start|>user\\n' + message.content + '</s>\\n' }}
    {%- elif message.role == "assistant" %}
        {{- '<|im_start|>assistant\\n' }}
        {%- if message.reasoning_content %}
            {{- '<think>\\n' + message.reasoning_content + '\\n</think>\\n\\n' }}
        {%- endif %}
        {%- if message.content %}{{- message.content }}{%- endif %}
        {%- for tool_call in message.tool_calls or [] %}
            {%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
            {{- '\\n<tool_call>\\n{"name": "' + tool_call.name + '", "arguments": ' }}
            {{- tool_call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '</s>\\n' }}
    {%- elif message.role == "tool" %}
        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response></s>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""
PLAIN = """\
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '</s>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
"""

CONSTANT, BEGINS, FIRST_WORD = 0, 1, 2
"""The dimensions: one that all tokens have, one of the token that begins an answer; then one for each word that the
attention looks for, one for each word that it has found, and one for each token of a chain."""
FIRST_FOUND = FIRST_WORD + len(ANSWERS)
FIRST_LINK = FIRST_FOUND + len(ANSWERS)
WIDTH, HEAD, HIDDEN = 128, 32, 32
ROPE_BASE = 1e12
NORMAL, UNKNOWN_KIND, CONTROL, WHOLE, BYTE = 1, 2, 3, 4, 6
"""llama.cpp's numbers for kinds of tokens; whole ones are never split."""
CERTAIN = 200.0
"""The lead of the next token over all others: no sampler takes another one."""


class Vocabulary:
    """The tokens and their chains; no two links of chains have the same text."""

    def __init__(self) -> None:
        self.texts: list[bytes] = [each.encode() for each in (UNKNOWN, BEGIN, END, ASSISTANT)]
        self.kinds = [UNKNOWN_KIND, CONTROL, CONTROL, WHOLE]
        for byte in range(256):
            self._add(f"<0x{byte:02X}>".encode(), BYTE)
        for letter in "▁" + "".join(map(chr, range(33, 127))):
            self._add(letter.encode(), NORMAL)
        self.words = {word: self._add(word.encode(), WHOLE) for word in ANSWERS}
        self.whole = [ASSISTANT, *ANSWERS, *TAGS]
        chains = {"": HELLO, **ANSWERS}
        self.chains = {
            word: [self._add(text.replace(" ", "▁").encode(), WHOLE if text in TAGS else NORMAL) for text in chain]
            for word, chain in chains.items()
        }

    def _add(self, text: bytes, kind: int) -> int:
        self.texts.append(text)
        self.kinds.append(kind)
        return len(self.texts) - 1


def weights(vocabulary: Vocabulary) -> dict[str, Any]:
    """The tensors by name."""
    import numpy as np

    size = len(vocabulary.texts)
    embedding, output = np.zeros((size, WIDTH), np.float32), np.zeros((size, WIDTH), np.float32)
    embedding[:, CONSTANT] = 1
    embedding[vocabulary.texts.index(ASSISTANT.encode()), BEGINS] = 1
    query, key = np.zeros((HEAD, WIDTH), np.float32), np.zeros((HEAD, WIDTH), np.float32)
    value, attended = np.zeros((HEAD, WIDTH), np.float32), np.zeros((WIDTH, HEAD), np.float32)
    turning = HEAD - 1  # RoPE hardly rotates the last pair of dimensions
    query[turning, CONSTANT] = 40
    for number, (word, token) in enumerate(vocabulary.words.items()):
        embedding[token, FIRST_WORD + number] = 1
        key[turning, FIRST_WORD + number] = 40 * (number + 1)
        value[number, FIRST_WORD + number] = 1
        attended[FIRST_FOUND + number, number] = 8
        output[vocabulary.chains[word][0], FIRST_FOUND + number] = CERTAIN
    link = FIRST_LINK
    output[vocabulary.chains[""][0], BEGINS] = CERTAIN
    for word, chain in vocabulary.chains.items():
        last = chain[0] if word == ENDLESS else vocabulary.texts.index(END.encode())
        for token, following in zip(chain, [*chain[1:], last], strict=True):
            embedding[token, link] = 100
            output[following, link] = CERTAIN
            link += 1
    if link > WIDTH:
        raise ValueError("The chains have more links than the model has dimensions.")
    ones, nothing = np.ones(WIDTH, np.float32), np.zeros
    return {
        "token_embd.weight": embedding,
        "output_norm.weight": ones,
        "output.weight": output,
        "blk.0.attn_norm.weight": ones,
        "blk.0.attn_q.weight": query,
        "blk.0.attn_k.weight": key,
        "blk.0.attn_v.weight": value,
        "blk.0.attn_output.weight": attended,
        "blk.0.ffn_norm.weight": ones,
        "blk.0.ffn_gate.weight": nothing((HIDDEN, WIDTH), np.float32),
        "blk.0.ffn_up.weight": nothing((HIDDEN, WIDTH), np.float32),
        "blk.0.ffn_down.weight": nothing((WIDTH, HIDDEN), np.float32),
    }


def write(path: Path, template: str) -> None:
    """Write the model with the chat *template* to *path*, as a GGUF file."""
    from gguf import GGUFWriter

    vocabulary = Vocabulary()
    writer = GGUFWriter(str(path), "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
    writer.add_rope_dimension_count(HEAD)
    writer.add_rope_freq_base(ROPE_BASE)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(vocabulary.texts)
    writer.add_token_scores([0.0] * len(vocabulary.texts))
    writer.add_token_types(vocabulary.kinds)
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(template)
    for name, tensor in weights(vocabulary).items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]), PLAIN if "plain" in sys.argv else TEMPLATE)
