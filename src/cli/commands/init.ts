import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { initialConfigText, initialSchemaName } from '../../config/init.ts';
import { configJsonSchema } from '../../config/json-schema.ts';
import { culvert, pasted } from '../../kernel/command-form.ts';
import { print, printJson } from '../print.ts';
import { writeNewFile } from '../whole-file.ts';

/** Writes a commented configuration, and next to it the schema that its first line names; existing files stay. */
export async function init(file: string, flags: { json?: boolean }): Promise<number> {
  writeNewFile(file, initialConfigText(), 'Name another file.');
  const schema = join(dirname(file), initialSchemaName);
  // One that is there serves as well: editors need no newer one than the file has keys of.
  const isNew = !existsSync(schema);
  if (isNew) writeNewFile(schema, `${JSON.stringify(configJsonSchema(), null, 2)}\n`, 'Try again.');
  if (flags.json) printJson({ file, schema });
  else {
    const start = file === 'culvert.yaml' ? `${culvert} start` : `${culvert} start --config ${pasted(file)}`;
    const beside = isNew ? `, and ${schema}, which editors use to complete it` : '';
    print(`Wrote ${file}${beside}. It is valid as it is: ${start}`);
  }
  return 0;
}
