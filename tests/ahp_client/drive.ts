/**
 * Drives the Agent Host Protocol's own client by lines of JSON on stdin, one answer for each on stdout.
 *
 * It mirrors what the host sends with `AhpStateMirror`, and chats, which that does not know, with the chat reducer.
 */
import { createInterface } from "node:readline";
import { AhpClient, AhpStateMirror } from "ahp/client/index.js";
import { WebSocketTransport } from "ahp/ws/index.js";
import { chatReducer } from "ahp/types/channels-chat/reducer.js";

type Json = any;

let client: AhpClient;
let transport: WebSocketTransport;
let mirror = new AhpStateMirror();
let chats = new Map<string, Json>();
let seen = 0;
let clientId = "";
const notices: Json[] = [];
const rejections: Json[] = [];
const followed = new Set<string>();
const waiting: (() => void)[] = [];
/** What comes before the first answer of a connection is taken in, which a promise may do later. */
let held: Json[] | undefined;

function applySnapshot(snapshot: Json): void {
  followed.add(snapshot.resource);
  seen = Math.max(seen, snapshot.fromSeq);
  if (snapshot.resource.startsWith("ahp-chat:")) chats.set(snapshot.resource, snapshot.state);
  else mirror.applySnapshot(snapshot);
}

function apply(envelope: Json): void {
  if (envelope.rejectionReason !== undefined) {
    rejections.push(envelope);
  } else if (envelope.serverSeq > seen) {
    seen = envelope.serverSeq;
    const { channel, action } = envelope;
    if (channel.startsWith("ahp-chat:")) {
      if (chats.has(channel)) chats.set(channel, chatReducer(chats.get(channel), action));
    } else mirror.apply(envelope);
  }
  for (const check of [...waiting]) check();
}

function state(uri: string): Json {
  if (uri === "ahp-root://") return mirror.root;
  if (uri.startsWith("ahp-chat:")) return chats.get(uri);
  if (uri.startsWith("ahp-session:")) return mirror.getSession(uri);
  if (uri.startsWith("ahp-terminal:")) return mirror.getTerminal(uri);
  return mirror.changesets.get(uri);
}

async function open(url: string): Promise<void> {
  held = [];
  transport = await WebSocketTransport.connect(url);
  client = new AhpClient(transport);
  const events = client.events();
  client.connect();
  void (async () => {
    for await (const { event } of events as AsyncIterable<Json>) {
      if (event.type !== "action") notices.push(event);
      else if (held) held.push(event.params ?? event.envelope ?? event.action);
      else apply(event.params ?? event.envelope ?? event.action);
    }
  })();
}

/** Takes in the first answer of a connection, and then what happened since. */
function takeIn(result: Json): void {
  for (const envelope of result.actions ?? []) apply(envelope);
  if (result.type === "snapshot") seen = 0;
  for (const snapshot of result.snapshots ?? []) applySnapshot(snapshot);
  const since = held ?? [];
  held = undefined;
  for (const envelope of since) apply(envelope);
}

/** Waits until the JSON of a state has `text` in it. */
function until(uri: string, text: string): Promise<Json> {
  return new Promise((resolve) => {
    const check = () => {
      if (!JSON.stringify(state(uri) ?? null).includes(text)) return;
      waiting.splice(waiting.indexOf(check), 1);
      resolve(state(uri));
    };
    waiting.push(check);
    check();
  });
}

const DO: Record<string, (line: Json) => Promise<Json> | Json> = {
  async connect({ url, id, versions, uris }) {
    clientId = id;
    await open(url);
    const result: Json = await client.initialize({ clientId, protocolVersions: versions, initialSubscriptions: uris });
    takeIn(result);
    return { protocolVersion: result.protocolVersion, serverSeq: result.serverSeq };
  },
  async reconnect({ url, since }) {
    await open(url);
    const lastSeenServerSeq = since ?? seen;
    const result: Json = await client.reconnect({ clientId, lastSeenServerSeq, subscriptions: [...followed] });
    takeIn(result);
    return { type: result.type, missing: result.missing, actions: result.actions?.length };
  },
  async subscribe({ uri }) {
    const { result }: Json = await client.subscribe(uri);
    applySnapshot(result.snapshot);
    return result.snapshot;
  },
  take({ snapshot }) {
    applySnapshot(snapshot);
    return snapshot.state;
  },
  request: ({ method, params }) => client.request(method, params),
  dispatch({ uri, action }) {
    return client.dispatch(uri, action);
  },
  async cut() {
    await client.shutdown();
    return {};
  },
  until: ({ uri, text }) => until(uri, text),
  state: ({ uri }) => state(uri) ?? null,
  notices: () => notices.splice(0),
  rejections: () => rejections.splice(0),
};

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  let answer: Json;
  try {
    answer = { result: (await DO[line.do]?.(line)) ?? null };
  } catch (error: Json) {
    answer = { error: error.message, code: error.code ?? null };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
