import { Clapperboard } from 'lucide-react';
import type { Caller } from '../../api/caller.ts';
import { Empty } from '../../parts/empty.tsx';
import { Note } from '../../parts/error-note.tsx';
import { Ago } from '../../parts/figures.tsx';
import { Status, type Tone } from '../../parts/status.tsx';
import { type Column, PagedTable } from '../../parts/tables/table.tsx';
import { useJobs, type Video } from './jobs-api.ts';
import { SaveButton } from './save-button.tsx';

const states: Record<Video['status'], { tone: Tone; word: string }> = {
  queued: { tone: 'plain', word: 'Waiting' },
  in_progress: { tone: 'accent', word: 'Running' },
  completed: { tone: 'ok', word: 'Done' },
  failed: { tone: 'bad', word: 'Failed' },
};
const isRunning = ({ status }: Video) => status === 'queued' || status === 'in_progress';

/** Videos of a key, newest first. */
export function VideosView({ caller }: { caller: Caller }) {
  const pages = useJobs<Video>(caller, '/v1/videos', isRunning);
  const columns: Column<Video>[] = [
    {
      head: 'Video',
      className: '[overflow-wrap:anywhere]',
      value: ({ model }) => model,
      cell: (video) => (
        <>
          <span className="font-medium">{video.model}</span>
          <span className="block text-muted text-xs">
            {[video.size, video.seconds && `${video.seconds} s`].filter(Boolean).join(', ')}
          </span>
          {video.error != null && <span className="block text-bad text-xs">{video.error.message}</span>}
        </>
      ),
    },
    {
      head: 'State',
      value: ({ status }) => status,
      cell: ({ status, progress }) => (
        <Status tone={states[status].tone}>
          {states[status].word}
          {status === 'in_progress' && progress !== undefined && `, ${progress} %`}
        </Status>
      ),
    },
    {
      head: 'Started',
      align: 'right',
      from: 'sm',
      value: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Ago at={created_at * 1_000} />,
    },
    {
      head: 'Actions',
      align: 'right',
      cell: (video) =>
        video.status === 'completed' && (
          <span className="flex justify-end">
            <SaveButton
              caller={caller}
              path={`/v1/videos/${encodeURIComponent(video.id)}/content`}
              fileName="video.mp4"
            >
              Download
            </SaveButton>
          </span>
        ),
    },
  ];
  return (
    <>
      {pages.missing !== undefined && <Note tone="warn">{pages.missing}</Note>}
      <PagedTable
        label="Videos"
        columns={columns}
        pages={pages}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<Clapperboard />} title="This key has no videos.">
            Programs create videos with /v1/videos. The provider keeps them for some time.
          </Empty>
        }
      />
    </>
  );
}
