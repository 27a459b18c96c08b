import { useCaller } from '../../api/caller.ts';
import { useFilters } from '../../parts/filters.ts';
import { Page } from '../../parts/page.tsx';
import { AsCaller, SpeaksAs } from '../../parts/speaks-as.tsx';
import { Tabs } from '../../parts/tabs.tsx';
import { BatchesView } from './batches-view.tsx';
import { FilesView } from './files-view.tsx';
import { VideosView } from './videos-view.tsx';

const views = ['batches', 'files', 'videos'];

/** Batches, files and videos of a key, called as that key. */
export default function JobsPage() {
  const [{ view = 'batches' }, setFilters] = useFilters<'view' | 'key'>();
  const callers = useCaller();
  return (
    <Page title="Batches and files" actions={<SpeaksAs {...callers} />}>
      <AsCaller {...callers}>
        {(caller) => (
          <Tabs
            key={caller.key.id}
            label="Kind"
            value={views.includes(view) ? view : 'batches'}
            onValue={(value) => setFilters({ view: value === 'batches' ? '' : value })}
            tabs={[
              { value: 'batches', label: 'Batches', content: () => <BatchesView caller={caller} /> },
              { value: 'files', label: 'Files', content: () => <FilesView caller={caller} /> },
              { value: 'videos', label: 'Videos', content: () => <VideosView caller={caller} /> },
            ]}
          />
        )}
      </AsCaller>
    </Page>
  );
}
