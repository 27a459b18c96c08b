import type { Caller } from '../../api/caller.ts';
import { usePagesOf } from '../../api/pages.ts';
import { get } from '../../api/request.ts';

/** A batch of `/v1/batches`; times are seconds since the epoch. */
export interface Batch {
  id: string;
  endpoint: string;
  status: 'validating' | 'in_progress' | 'finalizing' | 'completed' | 'failed' | 'expired' | 'cancelling' | 'cancelled';
  errors: { data: { message: string; line: number | null }[] } | null;
  input_file_id: string;
  output_file_id: string | null;
  error_file_id: string | null;
  created_at: number;
  expires_at: number;
  request_counts: { total: number; completed: number; failed: number };
}

/** A file of `/v1/files`. */
export interface StoredFile {
  id: string;
  bytes: number;
  created_at: number;
  expires_at: number;
  filename: string;
  purpose: string;
}

/** A video of `/v1/videos`. */
export interface Video {
  id: string;
  model: string;
  status: 'queued' | 'in_progress' | 'completed' | 'failed';
  progress?: number;
  created_at: number;
  seconds?: string;
  size?: string;
  error?: { message: string } | null;
}

interface JobList<Row> {
  data: Row[];
  has_more: boolean;
  /** Providers whose rows are missing. */
  unlisted?: { message: string }[];
}

const shownAtOnce = 25;
const everyMs = 3_000;

/** A list of `/v1` in OpenAI's form, newest first; asked for again while `isRunning` says so of a row. */
export function useJobs<Row extends { id: string }>(
  caller: Caller,
  path: string,
  isRunning: (row: Row) => boolean = () => false,
) {
  return usePagesOf(
    [path, caller.key.id],
    async (after: string | undefined, signal) => {
      const query = { after, limit: shownAtOnce };
      const answer = await get<JobList<Row>>(path, query, signal, caller.headers);
      const { data, has_more, unlisted } = answer;
      const missing = unlisted?.map(({ message }) => message).join(' ');
      return { data, next_cursor: has_more ? (data.at(-1)?.id ?? null) : null, missing };
    },
    { everyMs: (rows) => (rows?.some(isRunning) ? everyMs : false), inUrl: true },
  );
}
