// An agent on the official SDK of npm, served over HTTP and WebSocket by the SDK's own server, on a free port, which is
// printed. `node sdk_server.mjs SDK_FOLDER [2]`: with 2 it speaks the draft of version 2, on stdin and stdout instead.
// A prompt is `note WORD`, `recall` or `file PATH`; sessions outlive connections.

import { createServer } from "node:http";
import { createRequire } from "node:module";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [, , folder, version] = process.argv;
const { resolve } = createRequire(`${folder}/package.json`);
const load = (name) => import(pathToFileURL(resolve(name)));
const sessions = new Map();
let number = 0;

function known(id) {
  const words = sessions.get(id);
  if (!words) throw new Error(`There is no session ${id}.`);
  return words;
}

async function first() {
  const { agent } = await load("@agentclientprotocol/sdk");
  const { AcpServer } = await load("@agentclientprotocol/sdk/experimental/server");
  const { createNodeHttpHandler, createNodeWebSocketUpgradeHandler } = await load("@agentclientprotocol/sdk/experimental/node");
  const { WebSocketServer } = (await load("ws")).default;
  const notes = () =>
    agent({ name: "notes" })
      .onRequest("initialize", () => ({
        protocolVersion: 1,
        agentInfo: { name: "notes", title: "Notes", version: "1.0" },
        agentCapabilities: { sessionCapabilities: { resume: {} } },
      }))
      .onRequest("session/new", () => {
        const sessionId = `notes-${(number += 1)}`;
        sessions.set(sessionId, []);
        return { sessionId };
      })
      .onRequest("session/resume", ({ params }) => {
        known(params.sessionId);
        return {};
      })
      .onRequest("session/prompt", async ({ params: { sessionId, prompt }, client }) => {
        const [verb, rest] = prompt[0].text.split(" ");
        const words = known(sessionId);
        let said = `${sessionId} knows ${words.join(" ")}`;
        if (verb === "note") {
          words.push(rest);
          said = `noted ${rest}`;
        }
        if (verb === "file") said = (await client.request("fs/read_text_file", { sessionId, path: rest })).content;
        const content = { type: "text", text: said };
        await client.notify("session/update", { sessionId, update: { sessionUpdate: "agent_message_chunk", content } });
        return { stopReason: "end_turn" };
      });
  const server = new AcpServer({ createAgent: notes });
  const http = createServer(createNodeHttpHandler(server));
  http.on("upgrade", createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
  http.listen(0, "127.0.0.1", () => console.log(http.address().port));
}

async function second() {
  const { agent, ndJsonStream } = await load("@agentclientprotocol/sdk/experimental/v2");
  const update = (client, sessionId, content) => client.notify("session/update", { sessionId, update: content });
  agent({ name: "notes" })
    .onRequest("initialize", () => ({
      protocolVersion: 2,
      info: { name: "notes", title: "Notes", version: "2.0" },
      capabilities: { session: {} },
    }))
    .onRequest("session/new", () => ({ sessionId: "notes-1" }))
    .onRequest("session/prompt", ({ params: { sessionId, prompt }, client }) => {
      const messageId = `u${(number += 1)}`;
      setImmediate(async () => {
        await update(client, sessionId, { sessionUpdate: "user_message", messageId, content: prompt });
        await update(client, sessionId, { sessionUpdate: "state_update", state: "running" });
        const content = { type: "text", text: `said ${prompt[0].text}` };
        await update(client, sessionId, { sessionUpdate: "agent_message_chunk", messageId: `a${number}`, content });
        await update(client, sessionId, { sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
      });
      return { messageId };
    })
    .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
}

await (version === "2" ? second() : first());
