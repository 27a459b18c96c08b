import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { versionsOf } from '../../config/cross-check-prompts.ts';
import { labelName, promptFields, promptName, versionSchema } from '../../config/schema/schema-prompts.ts';
import { invalid } from '../../kernel/failure.ts';
import { isObject } from '../../kernel/json.ts';
import { type Call, type Operation, refuse } from '../operation.ts';
import type { AdminParts } from '../parts.ts';
import { entryOperations } from './entry-operations.ts';
import { type EntryRecords, writtenOf } from './entry-records.ts';
import type { Members } from './merge-patch.ts';
import { entryNamed, listByName, shownEntries, storedFields } from './stored-fields.ts';
import { storedEntryOperations } from './stored-operations.ts';
import { creation, patching, versionQuery } from './stored-row.ts';

const shownSchema = z.object({
  name: z.string(),
  labels: z.record(z.string(), z.int()).describe('Versions by label.'),
  versions: z
    .array(
      z.looseObject({
        number: z.int(),
        labels: z.array(z.string()).describe('Without one it is a draft.'),
        model: z.string().nullable().describe('The alias that answers; null: the one that the request names.'),
      }),
    )
    .describe('Newest first, each with `messages`, `variables` and `parameters` as in culvert.yaml.'),
  ...storedFields,
});
export type PromptReply = z.output<typeof shownSchema>;
type ShownPrompt = z.input<typeof shownSchema>;

const newPrompt = promptFields.extend({ name: promptName.describe('Requests name it as `prompt/NAME`.') });
const newVersion = versionSchema.extend({
  labels: z.array(labelName).max(20).default([]).describe('Labels that this version gets.'),
});
const labelled = z.strictObject({
  label: labelName,
  version: z.int().min(1).nullable().describe('The version that gets it; null: the label is removed.'),
});

type ChangeCall = Pick<Call, 'operator'> & { query: z.output<typeof versionQuery> };

/** `/prompts`: those of the file, and stored ones with their versions and labels. */
export function promptOperations(parts: AdminParts, entryRecords: EntryRecords): Operation[] {
  const entries = entryOperations({ path: '/prompts', named: 'name', area: 'models', reply: shownSchema });
  const all = () => shownPrompts(parts, entryRecords);
  const show = async (name: string) => entryNamed('prompt', await all(), name);
  /** Changes members that follow from those that are there. */
  const change = async (
    name: string,
    { query: { version }, operator: { name: actor } }: ChangeCall,
    patchOf: (before: Members) => Members,
  ) => {
    await entryRecords.change({ kind: 'prompt', name, version, actor, show: () => show(name) }, (row, rows) =>
      patching(parts, patchOf(writtenOf(parts, row)), actor)(row, rows),
    );
    return show(name);
  };
  return [
    listByName(entries, 'Lists the prompts with their versions and labels.', all),
    entries.show({ summary: 'Returns one prompt.', run: show }),
    ...storedEntryOperations(parts, entryRecords, {
      kind: 'prompt',
      entries,
      show,
      add: {
        summary: 'Creates a prompt, as under `prompts` in culvert.yaml. One without `versions` is version 1.',
        body: newPrompt,
        planOf: (definition) => (rows, name, actor) =>
          creation(parts, rows, { kind: 'prompt', name }, inVersions(definition), actor),
      },
      change: {
        summary: 'Changes the labels of a prompt, adds versions or removes them. A version itself does not change.',
        guardOf: () => refuseOtherVersions,
      },
      remove: { summary: 'Removes the stored versions and labels of a prompt.' },
    }),
    entries.act('versions', {
      summary: 'Adds the next version of a prompt. Without a label it is a draft, which requests name by its number.',
      query: versionQuery,
      body: newVersion,
      run: (name, call) =>
        change(name, call, (before) => {
          const { labels = [], ...version } = call.written as Members & { labels?: string[] };
          const next = Math.max(0, ...Object.keys(versionsIn(before)).map(Number)) + 1;
          return { versions: { [next]: version }, labels: Object.fromEntries(labels.map((label) => [label, next])) };
        }),
    }),
    entries.act('labels', {
      summary: 'Gives a label to a version of a prompt. The next request uses it; a roll-back is the earlier version.',
      query: versionQuery,
      body: labelled,
      run: (name, call) => change(name, call, () => ({ labels: { [call.body.label]: call.body.version } })),
    }),
  ];
}

/** A definition whose texts are in `versions`. */
function inVersions(definition: Members): Members {
  const { messages, variables, model, parameters, ...rest } = definition;
  if (messages === undefined) return definition;
  const first = { messages, variables, model, parameters };
  return {
    ...rest,
    versions: { 1: Object.fromEntries(Object.entries(first).filter(([, value]) => value !== undefined)) },
  };
}

function versionsIn({ versions }: Members): Readonly<Record<string, unknown>> {
  return isObject(versions) ? versions : {};
}

/** Answers of a version can be compared as long as its text stays. */
function refuseOtherVersions(before: Members, after: Members): void {
  const there = versionsIn(after);
  for (const [number, version] of Object.entries(versionsIn(before))) {
    if (!Object.hasOwn(there, number) || isDeepStrictEqual(there[number], version)) continue;
    const message = `versions.${number}: a version does not change. Add the next one, and give it the label.`;
    refuse(invalid(`versions.${number}`, message));
  }
}

/** Prompts in force, and stored ones that cannot be used. */
async function shownPrompts(parts: AdminParts, entryRecords: EntryRecords): Promise<ShownPrompt[]> {
  const rows = await entryRecords.rows();
  const inForce = Object.entries(parts.snapshots.current.config.prompts);
  return shownEntries(parts, rows, 'prompt', inForce, (name, prompt, stored) => {
    const labels = prompt?.labels ?? {};
    const versions = prompt === null ? [] : [...versionsOf(prompt)].sort(([a], [b]) => b - a);
    return {
      name,
      labels,
      versions: versions.map(([number, { model = null, ...version }]) => ({
        number,
        labels: Object.keys(labels).filter((label) => labels[label] === number),
        model,
        ...version,
      })),
      ...stored,
    };
  });
}
