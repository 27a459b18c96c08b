import type { Json } from './conversation.ts';

/** One call of `/v1` as shown. */
export interface ShownCall {
  path: string;
  body: Json;
  /** Members of the body that the SDK's function may not know. */
  extra?: readonly string[];
  /** Fields of a form instead of JSON; `file` is a name. */
  form?: Readonly<Record<string, string>>;
  sdk: 'openai' | 'anthropic';
  /** Such as `chat.completions.create`. */
  method: string;
  /** Use of the answer, by language; `answer` holds it. */
  use: { python: string; typescript: string; curl?: string };
}

export interface Snippet {
  language: 'curl' | 'Python' | 'TypeScript';
  text: string;
}

/** `keyName` is in a comment: a secret is shown once, when it is made, and not here. */
export function snippetsOf(call: ShownCall, origin: string, keyName: string): Snippet[] {
  const shown = { ...call, body: shortened(call.body) as Json };
  const comment = `the secret of the key “${keyName.replaceAll(/[\r\n]/g, ' ')}”`;
  return [
    { language: 'curl', text: curl(shown, origin, comment) },
    { language: 'Python', text: python(shown, origin, comment) },
    { language: 'TypeScript', text: typescript(shown, origin, comment) },
  ];
}

function curl({ path, body, form, use }: ShownCall, origin: string, comment: string): string {
  const lines = [`curl ${origin}${path}`, `-H "Authorization: Bearer $CULVERT_API_KEY"`];
  if (form === undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${shellQuoted(JSON.stringify(body, null, 2))}`);
  } else {
    for (const [name, value] of Object.entries(form)) {
      lines.push(`-F ${shellQuoted(name === 'file' ? `file=@${value}` : `${name}=${value}`)}`);
    }
  }
  if (use.curl !== undefined) lines.push(use.curl);
  return `export CULVERT_API_KEY=…   # ${comment}\n\n${lines.join(' \\\n  ')}`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function python({ body, extra = [], form, sdk, method, use }: ShownCall, origin: string, comment: string): string {
  const [module, base] = sdk === 'openai' ? ['OpenAI', `${origin}/v1`] : ['Anthropic', origin];
  const others = Object.entries(body).filter(([name]) => extra.includes(name));
  const known = Object.entries(body).filter(([name]) => !extra.includes(name));
  const inBody = others.length === 0 ? [] : [['extra_body', Object.fromEntries(others)] as const];
  const fields = form === undefined ? [...known, ...inBody] : Object.entries(form);
  const args = fields.map(([name, value]) =>
    form !== undefined && name === 'file'
      ? `    file=open(${JSON.stringify(value)}, "rb"),`
      : `    ${name}=${pythonOf(value, 1)},`,
  );
  return `import os
from ${sdk} import ${module}

# CULVERT_API_KEY: ${comment}
client = ${module}(base_url="${base}", api_key=os.environ["CULVERT_API_KEY"])

answer = client.${method}(
${args.join('\n')}
)
${use.python}`;
}

function pythonOf(value: unknown, depth: number): string {
  const inner = '    '.repeat(depth + 1);
  const outer = '    '.repeat(depth);
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((one) => `${inner}${pythonOf(one, depth + 1)},`).join('\n')}\n${outer}]`;
  }
  if (typeof value === 'object') {
    const entries = Object.entries(value);
    if (entries.length === 0) return '{}';
    const lines = entries.map(([name, one]) => `${inner}${JSON.stringify(name)}: ${pythonOf(one, depth + 1)},`);
    return `{\n${lines.join('\n')}\n${outer}}`;
  }
  return JSON.stringify(value);
}

function typescript({ body, form, sdk, method, use }: ShownCall, origin: string, comment: string): string {
  const [module, from, base] =
    sdk === 'openai' ? ['OpenAI', 'openai', `${origin}/v1`] : ['Anthropic', '@anthropic-ai/sdk', origin];
  const name = method.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  const files = form === undefined ? '' : "import { createReadStream } from 'node:fs';\n";
  return `${files}import ${module} from '${from}';

// CULVERT_API_KEY: ${comment}
const client = new ${module}({ baseURL: '${base}', apiKey: process.env.CULVERT_API_KEY });

const answer = await client.${name}(${typescriptOf(form ?? body, 0, form !== undefined)});
${use.typescript}`;
}

function typescriptOf(value: unknown, depth: number, form = false): string {
  const inner = '  '.repeat(depth + 1);
  const outer = '  '.repeat(depth);
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((one) => `${inner}${typescriptOf(one, depth + 1)},`).join('\n')}\n${outer}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const lines = Object.entries(value).map(([name, one]) => {
      const label = /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
      const written =
        form && name === 'file' ? `createReadStream(${JSON.stringify(one)})` : typescriptOf(one, depth + 1);
      return `${inner}${label}: ${written},`;
    });
    return lines.length === 0 ? '{}' : `{\n${lines.join('\n')}\n${outer}}`;
  }
  if (typeof value !== 'string') return JSON.stringify(value);
  const quoted = JSON.stringify(value);
  return value.includes("'") || value.includes('"') ? quoted : `'${quoted.slice(1, -1)}'`;
}

/** Pictures in base64 would hide the call. */
const shownMax = 2_000;

function shortened(value: unknown): unknown {
  if (typeof value === 'string') {
    const data = /^data:[^,]{0,100},/.exec(value)?.[0];
    return value.length > shownMax && (data !== undefined || /^[\w+/=]+$/.test(value)) ? `${data ?? ''}…` : value;
  }
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}
