import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { initialConfigText, initialSchemaName } from '../../config/init.ts';
import { configJsonSchema } from '../../config/json-schema.ts';
import { culvert } from '../../kernel/command-form.ts';
import { CommandFailed } from '../command-failed.ts';
import { print, printJson } from '../print.ts';

/** Writes a commented configuration, and next to it the schema that its first line names; existing files stay. */
export async function init(file: string, flags: { json?: boolean }): Promise<number> {
  write(file, initialConfigText(), 'Name another file.');
  const schema = join(dirname(file), initialSchemaName);
  // One that is there serves as well: editors need no newer one than the file has keys of.
  const isNew = !existsSync(schema);
  if (isNew) write(schema, `${JSON.stringify(configJsonSchema(), null, 2)}\n`, 'Try again.');
  if (flags.json) printJson({ file, schema });
  else {
    const start = file === 'culvert.yaml' ? `${culvert} start` : `${culvert} start --config ${file}`;
    const beside = isNew ? `, and ${schema}, which editors use to complete it` : '';
    print(`Wrote ${file}${beside}. It is valid as it is: ${start}`);
  }
  return 0;
}

function write(file: string, text: string, otherwise: string): void {
  try {
    writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'EEXIST') throw new CommandFailed(`${file} already exists and was left as it is. ${otherwise}`);
    throw new CommandFailed(`${file} cannot be written (${code}).`);
  }
}
