import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { Input, TextArea } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { ActionForm } from '../../parts/forms/action-form.tsx';
import { useStoredFields } from '../../parts/forms/fields.ts';
import { Field } from '../../parts/forms/form.tsx';
import { listIn, numberOrText } from '../../parts/forms/typed.ts';

interface CrawlFormProps {
  caller: Caller;
  /** Name of the collection that gets the pages; without one they are only listed. */
  collection?: string;
  onClose: () => void;
  onBegun: (id: string) => void;
}

export function NewCrawl(props: CrawlFormProps) {
  return (
    <Dialog open onClose={props.onClose} title="New crawl" description="Each page that is read costs units.">
      <CrawlForm {...props} />
    </Dialog>
  );
}

/** The start of a crawl, and its bounds. */
export function CrawlForm({ caller, collection, onClose, onBegun }: CrawlFormProps) {
  const [form, field, change] = useStoredFields('tools.crawl', {
    url: '',
    limit: '50',
    depth: '5',
    only: '',
    without: '',
    whole: false,
  });
  const { url, limit, depth, only, without, whole } = form;
  const client = useQueryClient();
  const begin = useMutation({
    mutationFn: () =>
      call<{ id: string }>('POST', '/v1/tools/crawl', {
        headers: caller.headers,
        body: {
          url: url.trim(),
          ...(limit.trim() !== '' && { limit: numberOrText(limit) }),
          ...(depth.trim() !== '' && { maxDiscoveryDepth: numberOrText(depth) }),
          ...(whole && { crawlEntireDomain: true }),
          ...(only.trim() !== '' && { includePaths: listIn(only, '\n') }),
          ...(without.trim() !== '' && { excludePaths: listIn(without, '\n') }),
          ...(collection !== undefined && { collection }),
        },
      }),
    async onSuccess({ id }) {
      await client.invalidateQueries({ queryKey: ['/v1/tools/crawl', caller.key.id] });
      onBegun(id);
    },
  });
  return (
    <ActionForm by={begin} onCancel={onClose} action="Start" disabled={url.trim() === ''}>
      <Field name="url" label="URL" hint="Culvert also reads the pages below this path that it links to.">
        <Input inputMode="url" placeholder="https://" {...field('url')} />
      </Field>
      <label className="inline-flex min-h-6 items-center gap-2 text-sm">
        <input type="checkbox" checked={whole} onChange={() => change({ whole: !whole })} />
        Crawl the whole site
      </label>
      <div className="grid grid-cols-2 gap-3">
        <Field name="limit" label="Page limit">
          <Input inputMode="numeric" {...field('limit')} />
        </Field>
        <Field name="maxDiscoveryDepth" label="Max depth">
          <Input inputMode="numeric" {...field('depth')} />
        </Field>
      </div>
      <Field name="includePaths" label="Include paths" hint="Regular expressions, one per line.">
        <TextArea rows={2} {...field('only')} />
      </Field>
      <Field name="excludePaths" label="Exclude paths" hint="Regular expressions, one per line.">
        <TextArea rows={2} {...field('without')} />
      </Field>
    </ActionForm>
  );
}
