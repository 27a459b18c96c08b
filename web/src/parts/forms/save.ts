import { ConnectionError, type Query, send, url } from '../../api/request.ts';
import { toast } from '../toast.tsx';

/** Has the browser save what an address answers, under this name. */
export function saveFrom(address: string, fileName: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
}

/** Has the browser save a text under this name. */
export function saveText(text: string, fileName: string, type: string): void {
  saveBlob(new Blob([text], { type }), fileName);
}

function saveBlob(blob: Blob, fileName: string): void {
  const address = URL.createObjectURL(blob);
  saveFrom(address, fileName);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Has the browser save an answer of the API once it is whole. A note says why there is none, which a browser would not. */
export async function saveAnswer(path: string, query: Query, fileName: string): Promise<void> {
  try {
    const response = await send('GET', path, { query });
    const whole = await response.blob().catch(() => {
      throw new ConnectionError();
    });
    saveBlob(whole, fileName);
  } catch (error) {
    toast((error as Error).message);
  }
}

/** The same for one of any length, which the browser writes as it comes: it is asked for twice, to see that it is not refused. */
export async function saveLong(path: string, query: Query, fileName: string): Promise<void> {
  const seen = new AbortController();
  try {
    await send('GET', path, { query, signal: seen.signal });
    saveFrom(url(path, query), fileName);
  } catch (error) {
    toast((error as Error).message);
  } finally {
    seen.abort();
  }
}
