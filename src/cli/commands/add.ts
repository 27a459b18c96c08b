import { createInterface } from 'node:readline/promises';
import {
  addingProgress,
  type ExtrasFolder,
  extrasFolderAt,
  installedModel,
  readPin,
} from '../../engines/extras/extras-folder.ts';
import { installModel } from '../../engines/extras/install-model.ts';
import {
  installRuntime,
  runtimeAboutBytes,
  runtimeInstalled,
  runtimePackage,
  runtimeVersion,
} from '../../engines/extras/install-runtime.ts';
import { modelAtHand } from '../../engines/extras/model-at-hand.ts';
import { AddFailed, askHost, defaultModelHost, type HostedModel } from '../../engines/extras/model-host.ts';
import { type ExtraName, extraNames, type ModelManifest, modelManifests } from '../../engines/extras/model-manifest.ts';
import { culvert } from '../../kernel/command-form.ts';
import { knownEntry } from '../../kernel/known-entry.ts';
import { dataFolderAt, openDataFolder } from '../../stores/sqlite/data-folder.ts';
import { type AdminFlags, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { createProgress, inMb, whileWaiting } from '../progress.ts';
import { readConfig } from '../read-config.ts';
import { serverUrl } from '../running-server.ts';
import { table } from '../table.ts';

export interface AddFlags extends AdminFlags {
  model?: string;
  list?: boolean;
  yes?: boolean;
  offline?: boolean;
  pin?: string;
}

/** `culvert add`: the packages and the model of an engine, after consent; what broke off is gone on from. */
export async function add(extra: ExtraName | undefined, flags: AddFlags, parts: CliParts): Promise<number> {
  const config = readConfig(flags.config);
  const folder = extrasFolderAt(dataFolderAt(config.storage.data_dir).path);
  if (flags.list) return list(folder, flags);
  const manifest = pinned(chosen(extra, flags.model), flags.pin);
  if (installedModel(folder, manifest.id) !== null && runtimeInstalled(folder)) {
    return printState(
      flags,
      manifest,
      'already there',
      `${manifest.id} is there already, in ${folder.model(manifest.id)}.`,
    );
  }
  const leaving = new AbortController();
  const leave = () =>
    leaving.abort(new AddFailed('Stopped. The downloaded part is kept; run the same command again to continue.'));
  process.once('SIGINT', leave);
  try {
    const { signal } = leaving;
    const hosted = flags.offline
      ? modelAtHand(folder, manifest)
      : await whileWaiting(flags, `waiting for ${modelHost()}`, askHost(modelHost(), manifest, signal));
    for (const line of planOf(folder, manifest, hosted, flags)) note(line);
    await consent(flags, signal);
    openDataFolder(config.storage.data_dir);
    if (!runtimeInstalled(folder)) {
      note(`Installing ${runtimePackage} ${runtimeVersion} …`);
      const network = flags.offline ? 'offline' : 'online';
      const installing = installRuntime({ folder, signal, network, nowMs: Date.now });
      await whileWaiting(flags, 'npm installs the packages', installing);
    }
    await bringModel(flags, { folder, manifest, hosted, signal }, () => updateServer(flags, parts));
  } catch (error) {
    if (leaving.signal.aborted) throw new CommandFailed((leaving.signal.reason as Error).message);
    if (error instanceof AddFailed) throw new CommandFailed(error.message);
    throw error;
  } finally {
    process.removeListener('SIGINT', leave);
  }
  const serverUpdated = await updateServer(flags, parts);
  const next = serverUpdated
    ? 'The running server uses it now.'
    : `A server uses it after its next start, or after ${culvert} reload.`;
  return printState(flags, manifest, 'added', `${manifest.id} is added: culvert/${manifest.id}. ${next}`);
}

function modelHost(): string {
  const named = process.env.CULVERT_MODEL_HOST || defaultModelHost;
  if (URL.canParse(named) && /^https?:/.test(named)) return named;
  throw new CommandFailed(`CULVERT_MODEL_HOST is not a URL: ${named}`, 2);
}

function chosen(extra: ExtraName | undefined, model: string | undefined): ModelManifest {
  if (extra === undefined) {
    const can = `${culvert} add ${extraNames.join(' | ')}`;
    throw new CommandFailed(`Name what to add: ${can} (${culvert} add --list lists it).`, 2);
  }
  const ofExtra = modelManifests.filter((manifest) => manifest.extra === extra);
  const manifest = model === undefined ? ofExtra[0] : ofExtra.find(({ id }) => id === model);
  if (manifest !== undefined) return manifest;
  const ids = ofExtra.map(({ id }) => id).join(', ');
  throw new CommandFailed(`There is no model '${model}' for ${extra}. The models are ${ids}.`, 2);
}

/** With the commit and the checksums of an `installed.json`: the same bytes as where that was written. */
function pinned(manifest: ModelManifest, file: string | undefined): ModelManifest {
  if (file === undefined) return manifest;
  const pin = readPin(file);
  if (pin === null) throw new CommandFailed(`--pin ${file}: expected the installed.json of a model that was added.`, 2);
  if (pin.id !== manifest.id)
    throw new CommandFailed(
      `--pin ${file} belongs to ${pin.id}, not to ${manifest.id}. Add it with --model ${pin.id}.`,
      2,
    );
  const sums = new Map(pin.files.map(({ path, sha256 }) => [path, sha256]));
  const missing = manifest.files.filter(({ path }) => !sums.has(path)).map(({ path }) => path);
  if (missing.length > 0)
    throw new CommandFailed(
      `--pin ${file} has no checksum of ${missing.join(', ')}, because it is of another version.`,
      2,
    );
  return {
    ...manifest,
    revision: pin.commit ?? manifest.revision,
    files: manifest.files.map((one) => ({ ...one, sha256: knownEntry(sums, one.path) })),
  };
}

/** Summary of the changes, for the consent. */
function planOf(
  folder: ExtrasFolder,
  manifest: ModelManifest,
  { commit, files }: HostedModel,
  flags: AddFlags,
): string[] {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const from = flags.offline ? folder.model(manifest.id) : new URL(files[0]!.url).host;
  const unknown = files.filter(({ digest }) => digest === null).length;
  const byHost = files.filter(({ digest }) => digest?.from === 'host').length;
  return [
    `${manifest.title}`,
    `  licence   ${manifest.licence}`,
    `  source    ${manifest.repository}, from ${from}${commit === null ? '' : `, commit ${commit.slice(0, 10)}`}`,
    `  model     ${inMb(bytes)} MB in ${files.length} files, into ${folder.model(manifest.id)}`,
    ...(runtimeInstalled(folder)
      ? []
      : [
          `  packages  ${runtimePackage} ${runtimeVersion} and what it needs, by npm, about ${inMb(runtimeAboutBytes)} MB; npm runs none of their scripts`,
        ]),
    ...(byHost === 0
      ? []
      : [
          `  checksums of ${byHost} files come from the host itself: this version of Culvert has none to compare them with`,
        ]),
    ...(unknown === 0 ? [] : [`  checksums of ${unknown} files are not known: only their length is checked`]),
  ];
}

async function consent(flags: AddFlags, signal: AbortSignal): Promise<void> {
  if (flags.yes) return;
  if (process.stdin.isTTY !== true) throw new CommandFailed('There is no terminal to ask in. Add --yes to continue.');
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question('Continue? [y/N] ', { signal }).finally(() => asking.close());
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandFailed('Nothing was changed.');
}

interface Bringing {
  folder: ExtrasFolder;
  manifest: ModelManifest;
  hosted: HostedModel;
  signal: AbortSignal;
}

const barCells = 24;

/** `[#########---------------]  37%, 43.6 of 118.0 MB` */
function howFar(doneBytes: number, totalBytes: number): string {
  const share = totalBytes === 0 ? 1 : Math.min(1, doneBytes / totalBytes);
  const full = Math.floor(share * barCells);
  const percent = String(Math.floor(share * 100)).padStart(3);
  return `[${'#'.repeat(full)}${'-'.repeat(barCells - full)}] ${percent}%, ${inMb(doneBytes)} of ${inMb(totalBytes)} MB`;
}

/** `begun` is called once the server can read how far it is. */
async function bringModel(
  flags: AddFlags,
  { folder, manifest, hosted, signal }: Bringing,
  begun: () => Promise<boolean>,
): Promise<void> {
  const progress = createProgress(flags, 'waits');
  let pendingUpdate: Promise<boolean> | null = null;
  try {
    await installModel(manifest, hosted, {
      folder,
      signal,
      nowMs: Date.now,
      onProgress(doneBytes, totalBytes) {
        progress.at(howFar(doneBytes, totalBytes));
        // The first report is written when the second one comes.
        if (doneBytes > 0) pendingUpdate ??= begun();
      },
    });
    await pendingUpdate;
  } finally {
    progress.end();
  }
}

/** Has a server of this data folder look at its engines again; false where none runs, or it does not let us. */
async function updateServer(flags: AddFlags, parts: CliParts): Promise<boolean> {
  try {
    if (serverUrl(flags, () => readConfig(flags.config)) === null) return false;
    return await withAdmin(flags, parts, async (admin) => {
      if (admin.server === null) return false;
      await admin.request('POST', '/config/reload');
      return true;
    });
  } catch {
    return false;
  }
}

function printState(flags: AddFlags, { extra, id }: ModelManifest, state: string, sentence: string): number {
  if (flags.json) printJson({ extra, model: id, state });
  else print(sentence);
  return 0;
}

function list(folder: ExtrasFolder, flags: AddFlags): number {
  const rows = modelManifests.map((manifest) => {
    const installed = installedModel(folder, manifest.id);
    const adding = addingProgress(folder, manifest.id, Date.now());
    const bytes = (installed?.files ?? manifest.files.map(({ aboutBytes }) => ({ bytes: aboutBytes }))).reduce(
      (sum, file) => sum + file.bytes,
      0,
    );
    return {
      extra: manifest.extra,
      model: manifest.id,
      title: manifest.title,
      licence: manifest.licence,
      source: manifest.repository,
      bytes,
      commit: installed?.commit ?? null,
      state: installed !== null ? 'added' : adding !== null ? 'downloading' : 'not added',
      percent:
        installed !== null ? 100 : adding === null ? 0 : Math.floor((adding.doneBytes * 100) / adding.totalBytes),
    };
  });
  if (listForm(flags) === 'json') printJson({ packages: runtimeInstalled(folder) ? runtimeVersion : null, data: rows });
  else {
    const cells = rows.map(({ extra, model, bytes, licence, state, percent, title }) => [
      extra,
      model,
      `${inMb(bytes)} MB`,
      licence,
      state === 'downloading' ? `${state}, ${percent}%` : state,
      title,
    ]);
    print(table(['extra', 'model', 'size', 'licence', 'state', 'what'], cells));
  }
  return 0;
}
