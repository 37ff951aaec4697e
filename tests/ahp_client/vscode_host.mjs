/**
 * Starts the agent host of a built VS Code, on a free port that it prints.
 *
 * `node vscode_host.mjs FOLDER DATA`: FOLDER is VS Code's, as `npm pack code-server` has it, with its dependencies
 * installed; DATA is where it may write. Its connection token is in VSCODE_AGENT_HOST_CONNECTION_TOKEN.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, data] = process.argv.slice(2).map((each) => resolve(each));
const json = (name) => JSON.parse(readFileSync(join(folder, name), "utf8"));
globalThis._VSCODE_NLS_MESSAGES = json("out/nls.messages.json");
globalThis._VSCODE_FILE_ROOT = join(folder, "out/");
globalThis._VSCODE_PRODUCT_JSON = json("product.json");
globalThis._VSCODE_PACKAGE_JSON = json("package.json");
process.env.VSCODE_AGENT_HOST_PORT = "0";
process.env.VSCODE_AGENT_HOST_HOST = "127.0.0.1";
process.argv.splice(2, 2, "--user-data-dir", data, "--logsPath", join(data, "logs"));
await import(pathToFileURL(join(folder, "out/vs/platform/agentHost/node/agentHostMain.js")).href);
