import type { JsonSchema } from '../../src/config/json-schema.ts';
import { inputSchema } from '../../src/config/json-schema.ts';

interface Row {
  key: string;
  what: string;
  standard: string;
  description: string;
}

/** docs/configuration.md: every key of culvert.yaml, from the schema. */
export function configReference(): string {
  const schema = inputSchema();
  const parts = [introduction];
  const loose: Row[] = [];
  for (const [key, child] of Object.entries(schema.properties ?? {})) {
    const rows = rowsOf(key, child, []);
    const [own, ...below] = rows;
    if (own === undefined) continue;
    if (below.length === 0) loose.push(own);
    else parts.push(`## ${key}\n\n${own.description}\n`, table(below));
  }
  parts.push('## Other keys\n', table(loose));
  return `${parts.join('\n').trimEnd()}\n`;
}

const introduction = `# Configuration

<!-- Written by scripts/write-config-docs.mjs from src/config. Do not edit. -->

Every key is optional. The file is found as \`--config FILE\`, the environment variable \`CULVERT_CONFIG\`, or
\`./culvert.yaml\`; without one the defaults below apply. \`culvert init\` writes a commented file, \`culvert check\` checks
one: an unknown key or a wrong value is an error with its line and column.

- **Durations** are \`500ms\`, \`30s\`, \`10m\`, \`2h\`, \`90d\`; **sizes** \`512kb\`, \`32mb\`, \`1gb\` (powers of 1024).
- **References** may be in any value: \`\${NAME}\` is an environment variable, \`\${NAME:-default}\` one with a default,
  \`\${file:/run/secrets/key}\` the content of a file (relative to the configuration file), and
  \`\${vault:secret/data/openai#api_key}\` a secret of a [secret manager](secrets.md). An empty variable counts as
  unset; a value that comes out empty leaves its key out. \`$\${NAME}\` is the plain text \`\${NAME}\`. Put references
  between braces in quotes, as in \`{ api_key: "\${NAME}" }\`, so that other YAML tools can read the file. Culvert refuses
  references of other programs as credentials: \`env:NAME\`, \`os.environ/NAME\`, \`$NAME\`, \`%NAME%\`, \`{{ NAME }}\`,
  \`file:/path\`, \`op://…\`, \`vault:…\`; and placeholders of examples, such as \`sk-...\`.
- **Without a file**, as in a container, variables replace keys that the file, if there is one, leaves out:
  \`CULVERT_HOST\` for \`server.host\`, \`PORT\` for \`server.port\`, \`CULVERT_DATA_DIR\` for \`storage.data_dir\`,
  \`CULVERT_ADMIN_KEY\` for \`admin.key\`, \`CULVERT_SIMULATOR\` for \`simulator\`, and \`CULVERT_API_KEY\` for \`keys\`: one key, \`sk-cv-\` and 8 or more letters or
  digits, of the account \`default\`, unless the store knows that secret already. \`--host\` and \`--port\` override
  all of them.
- A key without a value (\`providers:\` with everything below it commented out) is left out.
- \`include\` names more files and folders, such as mounted ConfigMaps and Secrets. A name may be in one file only. An
  included file includes no others, and its \`\${file:…}\` begin at its folder.
- The file is read again when it or a file it refers to changes, and on SIGHUP. It is checked whole first: a bad file
  changes nothing. Running streams finish on the old configuration.
- **Prices** are USD per million tokens unless the key says otherwise; **costs** are units of quota.
`;

function rowsOf(key: string, schema: JsonSchema, required: readonly string[]): Row[] {
  const needed = required.includes(key.split('.').at(-1) ?? '');
  const own: Row = {
    key,
    what: kindOf(schema),
    standard: needed ? 'required' : defaultOf(schema),
    description: schema.description ?? '',
  };
  return [own, ...childrenOf(key, schema)];
}

function childrenOf(key: string, schema: JsonSchema): Row[] {
  const object = schema.anyOf?.find((branch) => branch.type === 'object') ?? schema;
  if (object.items !== undefined) return childrenOf(`${key}[]`, object.items);
  if (object.properties !== undefined) {
    return Object.entries(object.properties).flatMap(([name, child]) =>
      rowsOf(`${key}.${name}`, child, object.required ?? []),
    );
  }
  return typeof object.additionalProperties === 'object'
    ? childrenOf(`${key}.<name>`, object.additionalProperties)
    : [];
}

function kindOf(schema: JsonSchema): string {
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(kindOf))].join(' or ');
  if (schema.const !== undefined) return `\`${String(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${String(value)}\``).join(', ');
  if (schema.kind !== undefined) return schema.kind;
  switch (schema.type) {
    case 'integer':
    case 'number':
      return numberOf(schema);
    case 'boolean':
      return 'true or false';
    case 'array':
      return schema.items === undefined ? 'list' : `list of ${kindOf(schema.items)}`;
    case 'object':
      return 'mapping';
    default:
      return schema.type === 'string' ? 'text' : 'any value';
  }
}

function numberOf(schema: JsonSchema): string {
  const what = schema.type === 'integer' ? 'whole number' : 'number';
  const low = schema.minimum ?? schema.exclusiveMinimum;
  // A bound this high is there for arithmetic's sake only.
  const high = schema.maximum !== undefined && schema.maximum < 1_000_000 ? schema.maximum : undefined;
  if (low !== undefined && high !== undefined) return `${what}, ${low}–${high}`;
  return low === undefined ? what : `${what} ≥ ${low}`;
}

function defaultOf(schema: JsonSchema): string {
  const value = schema.default;
  if (value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0))
    return '';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}

function table(rows: readonly Row[]): string {
  const lines = rows.map(
    (row) => `| \`${row.key}\` | ${cell(row.what)} | ${cell(row.standard)} | ${cell(row.description)} |`,
  );
  return `| key | value | default | meaning |\n|---|---|---|---|\n${lines.join('\n')}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}
