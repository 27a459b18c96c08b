import { useMutation } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { send } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorNote, Note } from '../../parts/error-note.tsx';
import { bytes } from '../../parts/format.ts';
import { saveFrom } from '../../parts/forms/save.ts';
import { Section } from '../../parts/page.tsx';
import { toast } from '../../parts/toast.tsx';

const shownEveryMs = 200;

/** Downloads what `culvert backup` writes. */
export function Backup() {
  /** Null: the server still makes it. */
  const [received, setReceived] = useState<number | null>(null);
  const leaving = useRef(new AbortController());
  useEffect(() => () => leaving.current.abort(), []);
  const download = useMutation({
    async mutationFn() {
      setReceived(null);
      leaving.current = new AbortController();
      const backup = await fetchBackup(leaving.current.signal, setReceived);
      const address = URL.createObjectURL(backup);
      saveFrom(address, `culvert-backup-${new Date().toISOString().slice(0, 10)}.gz`);
      // The browser reads it after the click.
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      return backup.size;
    },
    onSuccess: (size) => toast(`The backup was downloaded: ${bytes(size)}.`),
  });
  const error = leaving.current.signal.aborted ? null : download.error;
  return (
    <Section title="Backup" inside="padded">
      <div className="flex max-w-2xl flex-col gap-4">
        <p>
          The backup is one file with accounts, keys (as hashes), plans, operators, the audit log, all requests and
          their cost, and the providers and models that were set up here. From the data folder it holds vectors, pages,
          crawls and pictures. <code className="font-mono text-sm">culvert restore FILE</code> restores all of it.
        </p>
        <Note tone="warn">
          Keep it as safe as a password: it holds the secret that opens the credentials that were set up here. It does
          not hold culvert.yaml and the keys in admin.key and api.key.
        </Note>
        <div className="flex flex-wrap items-center gap-3">
          <Button
            look="main"
            icon={<Download className="size-4" aria-hidden />}
            busy={download.isPending}
            onClick={() => download.mutate()}
          >
            Download a backup
          </Button>
          {download.isPending && (
            <>
              <Button look="quiet" onClick={() => leaving.current.abort()}>
                Cancel
              </Button>
              <p role="status" className="text-muted text-sm tabular-nums">
                {received === null
                  ? 'The server writes it to its disk first and keeps serving.'
                  : `${bytes(received)} received`}
              </p>
            </>
          )}
        </div>
        {error !== null && <ErrorNote error={error} retry={() => download.mutate()} />}
      </div>
    </Section>
  );
}

/** Whole, or not at all; the browser may keep it on its disk meanwhile. */
async function fetchBackup(signal: AbortSignal, onReceived: (size: number) => void): Promise<Blob> {
  const response = await send('GET', '/admin/v1/backup', { signal });
  let size = 0;
  let shownMs = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, out) {
      size += piece.length;
      const nowMs = performance.now();
      if (nowMs - shownMs >= shownEveryMs) {
        shownMs = nowMs;
        onReceived(size);
      }
      out.enqueue(piece);
    },
  });
  try {
    return await new Response(response.body!.pipeThrough(counting)).blob();
  } catch {
    throw new Error('The connection broke before the backup was complete. Nothing was saved.');
  }
}
