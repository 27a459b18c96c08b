import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { Caller } from '../../api/caller.ts';
import { call } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { Input, TextArea } from '../../parts/controls.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import { useKept } from '../../parts/kept.ts';

interface NewCrawlProps {
  caller: Caller;
  onClose: () => void;
  onBegun: (id: string) => void;
}

export function NewCrawl({ caller, onClose, onBegun }: NewCrawlProps) {
  const [asked, setAsked] = useKept('tools.crawl', { url: '', limit: '50', depth: '5', only: '', without: '' });
  const { url, limit, depth, only, without } = asked;
  const client = useQueryClient();
  const begin = useMutation({
    mutationFn: () =>
      call<{ id: string }>('POST', '/v1/tools/crawl', {
        headers: caller.headers,
        body: {
          url,
          // What is no number is sent as it is: the server says so at its field.
          limit: numberOr(limit),
          maxDiscoveryDepth: numberOr(depth),
          ...(only.trim() !== '' && { includePaths: linesOf(only) }),
          ...(without.trim() !== '' && { excludePaths: linesOf(without) }),
        },
      }),
    async onSuccess({ id }) {
      await client.invalidateQueries({ queryKey: ['/v1/tools/crawl', caller.key.id] });
      onBegun(id);
    },
  });
  const field = (name: keyof typeof asked) => ({
    value: asked[name],
    onChange: (event: { target: { value: string } }) => setAsked({ ...asked, [name]: event.target.value }),
  });
  return (
    <Dialog open onClose={onClose} title="New crawl" description="Each page that is read costs as one.">
      <Form
        error={begin.error}
        onSubmit={() => begin.mutate()}
        footer={
          <>
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" look="main" busy={begin.isPending} disabled={url.trim() === ''}>
              Begin
            </Button>
          </>
        }
      >
        <Field name="url" label="Address" hint="Pages of the site that it leads to are read, too.">
          {(control) => <Input {...control} inputMode="url" placeholder="https://" {...field('url')} />}
        </Field>
        <div className="grid grid-cols-2 gap-3">
          <Field name="limit" label="Most pages">
            {(control) => <Input {...control} inputMode="numeric" {...field('limit')} />}
          </Field>
          <Field name="maxDiscoveryDepth" label="Most clicks away">
            {(control) => <Input {...control} inputMode="numeric" {...field('depth')} />}
          </Field>
        </div>
        <Field name="includePaths" label="Only these paths" hint="Regular expressions, one a line.">
          {(control) => <TextArea {...control} rows={2} {...field('only')} />}
        </Field>
        <Field name="excludePaths" label="Not these paths" hint="Regular expressions, one a line.">
          {(control) => <TextArea {...control} rows={2} {...field('without')} />}
        </Field>
      </Form>
    </Dialog>
  );
}

function numberOr(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return Number.isNaN(Number(trimmed)) ? trimmed : Number(trimmed);
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
