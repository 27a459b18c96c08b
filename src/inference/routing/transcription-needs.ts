import type { Timestamps, TranscriptionNeeds } from '../neutral/transcript.ts';

/** What requests for transcripts need to know of a target. */
export interface TranscriptionTarget {
  timestamps: Timestamps;
  translates: boolean;
  /** Null: any file can be brought to it. */
  fileBytesMax: number | null;
}

/** What of it the target cannot do, in words for people; null when it can do all. */
export function unmetTranscription(can: TranscriptionTarget | undefined, needs: TranscriptionNeeds): string | null {
  if (can === undefined) return 'transcription';
  if (needs.task === 'translate' && !can.translates) return 'translation';
  if (rank[needs.timestamps] > rank[can.timestamps]) return `times: of ${needs.timestamps}`;
  if (can.fileBytesMax !== null && needs.fileBytes > can.fileBytesMax) {
    return `file: of more than ${Math.floor(can.fileBytesMax / 1024 / 1024)} MB`;
  }
  return null;
}

const rank = { none: 0, segments: 1, words: 2 } as const satisfies Record<Timestamps, number>;
