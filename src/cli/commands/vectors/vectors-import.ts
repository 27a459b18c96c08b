import { culvert, pasted } from '../../../kernel/command-form.ts';
import type { JsonWidth } from '../../../kernel/json.ts';
import { loopWidthMax } from '../../../kernel/parse-object.ts';
import { type AdminClient, type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { note, printJson } from '../../print.ts';
import { type ExportLine, readExportFile } from '../../vectors-file.ts';

export interface ImportFlags extends AdminFlags {
  tenant: string;
  fromLine: number;
}

/** Bound of one request, which the server reads on its main thread. A larger point goes alone. */
const requestCharsMax = 512 * 1024;
/** Room for the members around the points. */
const requestWidthMax: JsonWidth = { structure: loopWidthMax.structure - 64, commas: loopWidthMax.commas - 64 };

/**
 * `culvert vectors import`: what is written stays when it stops, and it says where to go on. Points keep their ids, so
 * repeated imports make no duplicates.
 */
export async function importVectors(file: string, flags: ImportFlags, parts: CliParts): Promise<number> {
  const done = { collections: 0, points: 0, line: flags.fromLine - 1 };
  try {
    await withAdmin(flags, parts, async (admin, progress) => {
      for await (const batch of batches(readExportFile(file), flags.fromLine)) {
        await send(admin, flags.tenant, batch);
        done.line = batch.lastLine;
        if (batch.kind === 'collection') done.collections++;
        else done.points += batch.points.length;
        progress.count(done.points, 'points written');
      }
    });
  } catch (error) {
    if (done.line < flags.fromLine || !(error instanceof CommandFailed)) throw error;
    const again = `${culvert} vectors import --tenant ${pasted(flags.tenant)} ${pasted(file)} --from-line ${done.line + 1}`;
    throw new CommandFailed(`${error.message}\nEverything up to line ${done.line} is written. To continue: ${again}`);
  }
  const { collections, points } = done;
  if (flags.json) printJson({ file, tenant: flags.tenant, collections, points });
  else note(`Imported ${file}: ${collections} collections, ${points.toLocaleString('en')} points.`);
  return 0;
}

type Batch = { lastLine: number } & (
  | { kind: 'collection'; collection: unknown }
  | { kind: 'points'; collection: string; points: unknown[] }
);

async function send(admin: AdminClient, tenant: string, batch: Batch): Promise<void> {
  if (batch.kind === 'collection') {
    await admin.request('POST', '/vectors/collections', { body: { tenant, collection: batch.collection } });
  } else {
    const { collection, points } = batch;
    await admin.request('POST', '/vectors/points', { body: { tenant, collection, points } });
  }
}

const nothing: JsonWidth = { structure: 0, commas: 0 };

function isTooWide(width: JsonWidth, more: JsonWidth): boolean {
  return (
    width.structure + more.structure > requestWidthMax.structure || width.commas + more.commas > requestWidthMax.commas
  );
}

async function* batches(lines: AsyncIterable<ExportLine>, fromLine: number): AsyncGenerator<Batch> {
  let waiting: (Batch & { kind: 'points' }) | null = null;
  let chars = 0;
  let width = nothing;
  try {
    for await (const line of lines) {
      if (line.number < fromLine) continue;
      const { number: lastLine, collection } = line;
      if (
        waiting !== null &&
        (line.kind === 'collection' || chars + line.chars > requestCharsMax || isTooWide(width, line.width))
      ) {
        yield waiting;
        waiting = null;
      }
      if (line.kind === 'collection') yield { kind: 'collection', collection: line.described, lastLine };
      else {
        if (waiting === null) {
          chars = 0;
          width = nothing;
        }
        waiting ??= { kind: 'points', collection, points: [], lastLine };
        waiting.points.push(line.point);
        waiting.lastLine = lastLine;
        chars += line.chars;
        // And the comma behind it.
        width = { structure: width.structure + line.width.structure, commas: width.commas + line.width.commas + 1 };
      }
    }
  } catch (error) {
    // A file that is cut short: everything before the cut is good.
    if (waiting !== null) yield waiting;
    throw error;
  }
  if (waiting !== null) yield waiting;
}
