// Writes the types of the library (`culvert-gateway`, `culvert-gateway/formats`) into a folder: declarations of its public
// files, and the type of a configuration, made of its JSON Schema.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isolatedDeclarationSync } from 'rolldown/experimental';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The public files. Their declarations import each other, Node's own types and nothing else. */
const files = [
  'main/create-gateway.ts',
  'library/gateway-error.ts',
  'library/gateway-types.ts',
  'hooks/hook-types.ts',
  'library/formats.ts',
  'library/formats/convert-answer.ts',
  'library/formats/convert-error.ts',
  'library/formats/convert-request.ts',
  'library/formats/convert-stream.ts',
  'library/formats/format-error.ts',
  'library/formats/format-names.ts',
  'library/formats/types.ts',
];

export function writeLibraryTypes(folder) {
  for (const file of files) write(join(folder, declarationName(file)), declarationOf(file));
  const schema = JSON.parse(readFileSync(join(root, 'docs', 'culvert.schema.json'), 'utf8'));
  write(join(folder, 'library', 'config-input.d.ts'), configTypes(schema));
}

const declarationName = (file) => file.replace(/\.ts$/, '.d.ts');

function declarationOf(file) {
  const { code, errors } = isolatedDeclarationSync(file, readFileSync(join(root, 'src', file), 'utf8'));
  if (errors.length > 0) throw new Error(`src/${file}: ${errors.map(({ message }) => message).join('; ')}`);
  const declared = code.replaceAll(/(from ")(\.[^"]*)\.ts"/g, '$1$2.js"');
  const known = new Set([...files, 'library/config-input.ts']);
  for (const [, to] of declared.matchAll(/from "(\.[^"]*)\.js"/g)) {
    if (!known.has(join(dirname(file), `${to}.ts`)))
      throw new Error(`src/${file} is a public type and needs ${to}.ts, which the package does not ship.`);
  }
  return declared;
}

function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** TypeScript of a JSON Schema, with its descriptions as comments. */
function configTypes({ $defs = {}, ...schema }) {
  const shared = Object.entries($defs).map(([name, def]) => `type ${name} = ${typeOf(def)};\n`);
  return `/** A configuration as \`culvert.yaml\` holds it. */\nexport interface CulvertConfig ${typeOf(schema)}\n${shared.join('')}`;
}

const reference = `\`\${string}\\\${\${string}\``;

function typeOf(schema) {
  if (typeof schema === 'boolean') return 'unknown';
  if (schema.$ref !== undefined) return schema.$ref.replace('#/$defs/', '');
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((one) => JSON.stringify(one)).join(' | ');
  const either = schema.anyOf ?? schema.oneOf;
  if (either !== undefined) return [...new Set(either.map(typeOf))].join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((type) => typeOf({ ...schema, type })).join(' | ');
  switch (schema.type) {
    case 'string':
      // A reference to a variable or a file.
      return schema.pattern === '\\$\\{' ? reference : 'string';
    case 'integer':
    case 'number':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'null':
      return 'null';
    case 'array':
      return `readonly (${typeOf(schema.items ?? true)})[]`;
    case 'object':
      return objectType(schema);
    default:
      return 'unknown';
  }
}

function objectType({ properties, required = [], additionalProperties }) {
  if (properties === undefined) return `{ [name: string]: ${typeOf(additionalProperties ?? true)} }`;
  const members = Object.entries(properties).map(([name, schema]) => {
    const optional = required.includes(name) ? '' : '?';
    return `${comment(schema)}${JSON.stringify(name)}${optional}: ${typeOf(schema)};`;
  });
  return `{\n${members.join('\n')}\n}`;
}

function comment({ description, default: otherwise }) {
  if (description === undefined) return '';
  const shown =
    otherwise === undefined || typeof otherwise === 'object' ? '' : ` Default: ${JSON.stringify(otherwise)}.`;
  return `/** ${description.replaceAll('*/', '* /')}${shown} */\n`;
}
