// A component of a chain, in TypeScript on the official SDK: it writes prompts in capitals and passes on the rest.

import { Readable, Writable } from "node:stream";
import { type Agent, AgentSideConnection, ndJsonStream, RequestError } from "@agentclientprotocol/sdk";

const SUCCESSOR = "_proxy/successor";

type Params = Record<string, unknown>;
type Block = { type: string; text?: string };

new AgentSideConnection(
  (up) => {
    // biome-ignore lint/suspicious/noExplicitAny: what the successor answers is passed on as it is
    const down = (method: string, params: unknown): Promise<any> => up.extMethod(SUCCESSOR, { method, params });
    const proxy: Agent = {
      initialize: () => {
        throw RequestError.methodNotFound("initialize");
      },
      authenticate: (params) => down("authenticate", params),
      newSession: (params) => down("session/new", params),
      loadSession: (params) => down("session/load", params),
      prompt: (params) => {
        const shouted = params.prompt.map((block: Block) => (block.text ? { ...block, text: block.text.toUpperCase() } : block));
        return down("session/prompt", { ...params, prompt: shouted });
      },
      cancel: (params) => up.extNotification(SUCCESSOR, { method: "session/cancel", params }),
      extMethod: (method, params) => {
        if (method === "_proxy/initialize") return down("initialize", params);
        if (method === SUCCESSOR) return up.extMethod(params.method as string, params.params as Params);
        if (method.startsWith("proxy/")) throw RequestError.methodNotFound(method);
        return down(method, params);
      },
      extNotification: (method, params) => {
        if (method === SUCCESSOR) return up.extNotification(params.method as string, params.params as Params);
        return up.extNotification(SUCCESSOR, { method, params });
      },
    };
    return proxy;
  },
  ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>),
);
