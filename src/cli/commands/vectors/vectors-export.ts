import { type AdminFlags, withAdmin } from '../../admin-client.ts';
import { CommandFailed } from '../../command-failed.ts';
import type { CliParts } from '../../parts.ts';
import { note, printJson } from '../../print.ts';
import type { Progress } from '../../progress.ts';
import { writeWholeFile } from '../../whole-file.ts';

export interface ExportFlags extends AdminFlags {
  tenant: string;
}

/** `culvert vectors export`: the file is whole, or it is not there. */
export async function exportVectors(file: string, flags: ExportFlags, parts: CliParts): Promise<number> {
  let lines = 0;
  let tail = '';

  async function* counted(pieces: AsyncIterable<string>, progress: Progress): AsyncGenerator<string> {
    for await (const piece of pieces) {
      for (let at = piece.indexOf('\n'); at >= 0; at = piece.indexOf('\n', at + 1)) lines++;
      tail = (tail + piece.slice(-tailChars)).slice(-tailChars);
      progress.count(lines, 'lines written');
      yield piece;
    }
    // A server that fails in the middle can only end its answer.
    if (endIn(tail) === null) throw new CommandFailed('The server ended the export too early. Nothing was written.');
  }

  await withAdmin(flags, parts, (admin, progress) =>
    writeWholeFile(file, counted(admin.read('/vectors/export.jsonl', { tenant: flags.tenant }), progress), 'plain'),
  );
  const { collections, points } = endIn(tail)!;
  if (flags.json) printJson({ file, tenant: flags.tenant, collections, points });
  else note(`Wrote ${file}: ${collections} collections with ${points.toLocaleString('en')} points.`);
  return 0;
}

/** More than the last line of an export is long. */
const tailChars = 256;

function endIn(tail: string): { collections: number; points: number } | null {
  const last = /(?:^|\n)\{"end":\{"collections":(\d+),"points":(\d+)\}\}\n$/.exec(tail);
  return last === null ? null : { collections: Number(last[1]), points: Number(last[2]) };
}
