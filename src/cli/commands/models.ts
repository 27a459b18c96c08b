import { listedModels } from '../../inference/models/ruled-names.ts';
import { culvert } from '../../kernel/command-form.ts';
import { CommandFailed } from '../command-failed.ts';
import { principalOf } from '../key-holder.ts';
import type { CliParts } from '../parts.ts';
import { listForm, note, print, printJson } from '../print.ts';
import { whileWaiting } from '../progress.ts';
import { placeReader, readConfig } from '../read-config.ts';
import {
  apiKey,
  ask,
  isNamed,
  jsonOf,
  keyMissing,
  notCulvert,
  type ServerFlags,
  serverUrl,
} from '../running-server.ts';
import { table } from '../table.ts';

export interface ModelsFlags extends ServerFlags {
  json?: boolean;
  quiet?: boolean;
}

/** Listed facts of a model. A server knows more, which `--json` passes on. */
export interface ListedModel {
  id: string;
  model_type: string;
  owned_by: string;
  context_window: number | null;
  status?: string;
}

/** `culvert models`: what the named or running server lists for this key, else what one would list here. */
export async function models(flags: ModelsFlags, parts: CliParts): Promise<number> {
  const place = placeReader(flags.config);
  const url = serverUrl(flags, place);
  const key = apiKey(flags, url, place);
  if (url !== null && key === null && isNamed(flags)) throw keyMissing();
  if (url !== null && key === null)
    note(`${url} was not asked, because no key is set (CULVERT_API_KEY). This list comes from its files.`);
  const listed =
    url !== null && key !== null
      ? await whileWaiting(flags, `waiting for ${url}`, fromServer(url, key))
      : await fromFiles(flags, parts);
  if (listForm(flags) === 'json') {
    printJson({ object: 'list', data: listed });
    return 0;
  }
  if (listed.length === 0) note(`No model is known here yet. ${culvert} check --live shows whether providers answer.`);
  else print(modelTable(listed));
  return 0;
}

async function fromServer(url: string, key: string, signal?: AbortSignal): Promise<ListedModel[]> {
  const response = await ask(url, '/v1/models', key, signal === undefined ? {} : { signal });
  const answer = (await jsonOf(response, url)) as { data?: ListedModel[] } | null;
  if (!Array.isArray(answer?.data)) throw notCulvert(url);
  return answer.data;
}

/** Id of the first chat model that the server lists for this key. */
export async function firstChatModel(url: string, key: string, signal?: AbortSignal): Promise<string> {
  const first = (await fromServer(url, key, signal)).find((model) => model.model_type === 'chat');
  if (first === undefined) throw new CommandFailed(`${url} lists no chat model. ${culvert} models lists what it has.`);
  return first.id;
}

async function fromFiles(flags: ModelsFlags, parts: CliParts): Promise<ListedModel[]> {
  const config = readConfig(flags.config);
  const { snapshot, problems } = await parts.snapshotOf(config);
  for (const problem of problems) note(`warning: ${problem}`);
  const listed = listedModels(snapshot, await principalOf(config, flags.key, parts));
  return listed.map((alias) => ({
    id: alias.id,
    model_type: alias.listedAs,
    owned_by: alias.ownedBy,
    context_window: alias.candidates[0]?.target.contextWindow ?? null,
  }));
}

function modelTable(listed: readonly ListedModel[]): string {
  const hasStatus = listed.some(({ status }) => status !== undefined);
  const rows = listed.map(({ id, model_type, owned_by, context_window, status }) => [
    id,
    model_type,
    owned_by,
    context_window === null ? '' : String(context_window),
    status ?? '',
  ]);
  return table(['model', 'type', 'by', 'context', hasStatus ? 'status' : ''], rows);
}
