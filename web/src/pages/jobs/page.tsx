import { useCaller } from '../../api/caller.ts';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { AsCaller, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { BatchesView } from './batches-view.tsx';
import { FilesView } from './files-view.tsx';
import { VideosView } from './videos-view.tsx';

const views = {
  batches: { label: 'Batches', View: BatchesView },
  files: { label: 'Files', View: FilesView },
  videos: { label: 'Videos', View: VideosView },
};

/** Batches, files and videos of a key, called as that key. */
export default function JobsPage() {
  const [{ view = 'batches' }, setFilters] = useFilters<'view' | 'key'>();
  const callers = useCaller();
  const value = Object.hasOwn(views, view) ? (view as keyof typeof views) : 'batches';
  return (
    <Page title="Batches and files" opened={views[value].label} actions={<SpeaksAs {...callers} />}>
      <AsCaller {...callers}>
        {(caller) => (
          <Tabs
            key={caller.key.id}
            label="Kind"
            value={value}
            onValue={(value) => setFilters({ view: value === 'batches' ? '' : value })}
            tabs={Object.entries(views).map(([value, { label, View }]) => ({
              value,
              label,
              content: () => <View caller={caller} />,
            }))}
          />
        )}
      </AsCaller>
    </Page>
  );
}
