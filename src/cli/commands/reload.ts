import { type AdminFlags, AdminRefused, withAdmin } from '../admin-client.ts';
import { CommandFailed } from '../command-failed.ts';
import type { CliParts } from '../parts.ts';
import { note, print, printJson } from '../print.ts';

interface Reloaded {
  ok: boolean;
  errors: readonly { file?: string; line: number; column: number; path: string; message: string }[];
}

/** `culvert reload`: the running server reads its configuration again; one with errors changes nothing. */
export async function reload(flags: AdminFlags, parts: CliParts): Promise<number> {
  const reply = await withAdmin(flags, parts, async (admin) => {
    if (admin.server === null) throw new CommandFailed('No server runs here, so there is nothing to reload.');
    try {
      return (await admin.request('POST', '/config/reload', { body: {} })) as Reloaded;
    } catch (error) {
      const refused = error instanceof AdminRefused ? reloadedIn(error.text) : null;
      if (refused === null) throw error;
      return refused;
    }
  });
  if (flags.json) printJson(reply);
  else if (reply.ok) print('The configuration is reloaded.');
  else {
    for (const { file = 'culvert.yaml', line, column, path, message } of reply.errors)
      note(`${file}:${line}:${column} ${path === '' ? message : `${path}: ${message}`}`);
    note('The old configuration stays in use.');
  }
  return reply.ok ? 0 : 1;
}

/** The list of errors in a refusal; null when it is a refusal of another kind. */
function reloadedIn(text: string): Reloaded | null {
  try {
    const { errors } = JSON.parse(text) as Partial<Reloaded>;
    return Array.isArray(errors) ? { ok: false, errors } : null;
  } catch {
    return null;
  }
}
