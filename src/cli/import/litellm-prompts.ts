import { parametersSchema } from '../../config/schema/schema-parameters.ts';
import { culvert } from '../../kernel/command-form.ts';
import { isObject, type JsonObject, listIn, objectIn } from '../../kernel/json.ts';
import { readForeignYaml } from './foreign-yaml.ts';
import type { LiteLlmRows } from './litellm-database.ts';
import type { Path } from './notes.ts';
import { isWritable, plain, textOr, type Values } from './plain-values.ts';

/** LiteLLM's `.prompt` files: front matter in YAML, then `System:`, `User:` and `Assistant:` before the texts. */
const file = /^\s*---\r?\n([\s\S]*?)\r?\n---\r?\n([\s\S]*)$/;
const author = /^(System|Developer|User|Assistant):[ \t]*/gim;
const parameters = ['temperature', 'top_p', 'max_tokens'] as const;

/** Converts `prompts` whose text the file holds. Those that another service or a folder holds are noted. */
export function importPrompts(
  { notes }: Values,
  root: JsonObject,
  database: LiteLlmRows | null,
  models: Readonly<Record<string, unknown>>,
): Record<string, JsonObject> {
  const found: Record<string, JsonObject> = {};
  const inFile = listIn(root.prompts).map((one: unknown, index): [Path, JsonObject] => [
    ['prompts', index],
    objectIn(one),
  ]);
  // The newest version of each first: it is the one that is taken.
  const stored = (database?.tables.LiteLLM_PromptTable ?? [])
    .toSorted((a, b) => Number(b.version ?? 1) - Number(a.version ?? 1))
    .map((row): [Path, JsonObject] => [['LiteLLM_PromptTable', String(row.prompt_id)], row]);
  for (const [path, { prompt_id: id, litellm_params: given }] of [...inFile, ...stored]) {
    const params = objectIn(given);
    const content = params.dotprompt_content;
    if (typeof content !== 'string') {
      const from = textOr(params.prompt_integration, 'another place').slice(0, 40);
      notes.add(path, `not carried over: its text is not in this file, but at ${from}; ${culvert} prompts adds it`);
      continue;
    }
    const name = textOr(id, textOr(params.prompt_id, ''))
      .replace(/[^A-Za-z\d_.-]+/g, '-')
      .replace(/^[^A-Za-z]+/, '')
      .slice(0, 64);
    const result = promptOf(content, models);
    if (name === '' || name in Object.prototype)
      notes.add(path, 'not carried over: it has no prompt_id that can be a name here');
    else if (typeof result === 'string') notes.add(path, `not carried over: ${result}`);
    else if (Object.hasOwn(found, name))
      notes.add(path, 'not carried over: another prompt, or a newer version, has this name');
    else {
      found[name] = result.prompt;
      for (const left of result.left) notes.add(path, `${left}: not carried over`);
    }
  }
  return found;
}

function promptOf(
  content: string,
  models: Readonly<Record<string, unknown>>,
): string | { prompt: JsonObject; left: string[] } {
  const [, head = '', body = content] = file.exec(content) ?? [];
  if (/\{%|\{\{[\w\s]*[^\w\s}][^}]*\}\}/.test(body)) return 'its text has more than {{names}} of variables';
  const yaml = readForeignYaml(head);
  const front = yaml.ok ? objectIn(yaml.file.value) : {};
  const messages = messagesOf(body);
  if (messages.length === 0) return 'it has no text';
  if (!isWritable(body)) return 'culvert.yaml cannot hold a reference without its end';
  const schema = objectIn(objectIn(front.input).schema);
  const names = [...body.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name]) => name ?? '');
  const wrong = names.find((name) => !/^[A-Za-z_]\w{0,63}$/.test(name));
  if (wrong !== undefined) return `{{${wrong}}} is not a name of a variable here`;
  const variables = Object.fromEntries([...new Set(names)].map((name) => [name, typeOf(schema[name])]));
  const model = typeof front.model === 'string' && Object.hasOwn(models, front.model) ? front.model : null;
  const set = parameters.flatMap((name) =>
    parametersSchema.shape[name].safeParse(front[name]).data === undefined ? [] : [[name, front[name]] as const],
  );
  const read = ['model', 'input', 'output', ...parameters];
  return {
    prompt: {
      ...(Object.keys(variables).length > 0 && { variables }),
      ...(model !== null && { model: plain(model) }),
      ...(set.length > 0 && { parameters: Object.fromEntries(set) }),
      messages,
    },
    left: [
      ...(front.model !== undefined && model === null ? ['model, which the request names instead'] : []),
      ...Object.keys(front).filter((name) => !read.includes(name)),
      ...parameters.filter((name) => front[name] !== undefined && !set.some(([taken]) => taken === name)),
      ...(isObject(front.output) ? ['output'] : []),
    ],
  };
}

function messagesOf(body: string): JsonObject[] {
  const begins = [...body.matchAll(author)];
  const parts =
    begins.length === 0
      ? [{ role: 'user', content: body }]
      : begins.map((begin, at) => ({
          role: (begin[1] ?? '').toLowerCase().replace('developer', 'system'),
          content: body.slice(begin.index + begin[0].length, begins[at + 1]?.index),
        }));
  return parts
    .map(({ role, content }) => ({ role, content: plain(content.trim().replace(/\{\{\s*(\w+)\s*\}\}/g, '{{$1}}')) }))
    .filter(({ content }) => content !== '');
}

/** Type in a member of a `.prompt` file's schema: `string`, or `string, what it is for`. */
function typeOf(written: unknown): string {
  const type = /^(?:string|number|integer|boolean)/.exec(String(written))?.[0] ?? 'string';
  return type === 'integer' ? 'number' : type;
}
