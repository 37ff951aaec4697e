// A component of a chain, in TypeScript on the official SDK: it writes prompts in capitals and passes on the rest.

import { Readable, Writable } from "node:stream";
import { agent, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const SUCCESSOR = "_proxy/successor";

type Block = { type: string; text?: string };
type Inner = { method: string; params: unknown };
type Prompt = { prompt: Block[] };

const shouted = (block: Block): Block => (block.text ? { ...block, text: block.text.toUpperCase() } : block);

agent({ name: "shouts" })
  .onRequest("*", ({ method, params, client }) => {
    const down = (inner: string, given: unknown) => client.request(SUCCESSOR, { method: inner, params: given });
    if (method === "_proxy/initialize") return down("initialize", params);
    if (method === SUCCESSOR) return client.request((params as Inner).method, (params as Inner).params);
    if (method === "initialize" || method.startsWith("proxy/")) throw RequestError.methodNotFound(method);
    if (method !== "session/prompt") return down(method, params);
    const given = params as Prompt;
    return down(method, { ...given, prompt: given.prompt.map(shouted) });
  })
  .onNotification("*", ({ method, params, client }) => {
    if (method === SUCCESSOR) return client.notify((params as Inner).method, (params as Inner).params);
    return client.notify(SUCCESSOR, { method, params });
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>));
