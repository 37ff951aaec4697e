/** The settings in JupyterLab's own Settings editor. */
import type { Application } from "@jupyterlab/application";
import { Dialog, showDialog } from "@jupyterlab/apputils";
import { ISettingRegistry, type SettingRegistry } from "@jupyterlab/settingregistry";
import type { SettingsAccess } from "../view/store";
import { SettingsSync } from "./settings-sync";

const PLUGIN = "agentnb:plugin";

let sync: Promise<SettingsSync> | undefined;

/** Keeps JupyterLab's editor and the files of one more kernel equal. */
export async function joinSettings(
  app: Application,
  access: SettingsAccess,
  warn: (sentence: string) => void,
): Promise<void> {
  sync ??= app
    .resolveRequiredService<SettingRegistry>(ISettingRegistry)
    .then((registry) => registry.load(PLUGIN))
    .then((settings) => new SettingsSync(settings, { warn, confirm }));
  await (await sync).join(access);
}

async function confirm(sentence: string): Promise<boolean> {
  const buttons = [Dialog.cancelButton(), Dialog.warnButton({ label: "Change It" })];
  const { button } = await showDialog({ title: "Confirm the change", body: sentence, buttons });
  return button.accept;
}
