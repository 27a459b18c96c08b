import { Status, type Tone } from '../../parts/status.tsx';
import type { CrawlState } from './tool-answers.ts';

const states: Record<CrawlState['status'], { tone: Tone; word: string }> = {
  scraping: { tone: 'accent', word: 'Running' },
  completed: { tone: 'ok', word: 'Done' },
  failed: { tone: 'bad', word: 'Failed' },
  cancelled: { tone: 'plain', word: 'Cancelled' },
};

export function CrawlStatus({ crawl: { status } }: { crawl: Pick<CrawlState, 'status'> }) {
  const { tone, word } = states[status];
  return <Status tone={tone}>{word}</Status>;
}
