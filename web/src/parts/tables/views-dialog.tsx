import { useNavigate } from '@tanstack/react-router';
import { Copy, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { serverPath } from '../../api/server-path.ts';
import { Button, IconButton } from '../button.tsx';
import { Input } from '../controls.tsx';
import { Dialog } from '../dialog.tsx';
import { searchForm } from '../filters.ts';
import { Field, Form } from '../forms/form.tsx';
import { FieldProblem } from '../forms/typed.ts';
import { keep, useStored } from '../stored/use-stored.ts';
import { toast } from '../toast.tsx';
import { copyLink, type View, viewsMax, viewsName } from './views.ts';

/** Named views of all pages, kept in this browser. Each is a link, which works for everybody who may see its page. */
export default function ViewsDialog({ address, onClose }: { address: string; onClose: () => void }) {
  const [views, setViews] = useStored<View[]>(viewsName, [], 'browser');
  const [name, setName] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const navigate = useNavigate();
  const save = () => {
    const fault = problemIn(name.trim(), views);
    setError(fault);
    if (fault !== null) return;
    // The dialog closes before its state would be kept.
    keep(viewsName, [...views, { name: name.trim(), address }], 'browser');
    toast('The view is saved.');
    onClose();
  };
  const go = (to: string) => {
    const [path, search] = to.split('?');
    // It stays where the reader does.
    void navigate({ to: path as never, search: searchForm.parseSearch(search ?? '') as never }).then(onClose);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Saved views"
      description="A view is a page with its filters, range, order and columns. This browser keeps the list. To share a view, send its link."
    >
      <Form error={error} onSubmit={save} className="gap-2">
        <Field name="name" label="Save this view as">
          <div className="flex gap-2">
            <Input value={name} onChange={({ target }) => setName(target.value)} />
            <Button type="submit" look="main">
              Save
            </Button>
          </div>
        </Field>
      </Form>
      <ul className="mt-4 flex flex-col">
        {views.map((view) => (
          <li key={view.name} className="flex min-h-9 items-center gap-2 border-line border-t">
            <a
              href={serverPath + view.address}
              onClick={(event) => {
                event.preventDefault();
                go(view.address);
              }}
              className="min-w-0 flex-1 truncate hover:underline"
            >
              {view.name} <span className="text-muted text-xs">{placeOf(view)}</span>
            </a>
            <IconButton label={`Copy the link of ${view.name}`} size="row" onClick={() => void copyLink(view.address)}>
              <Copy />
            </IconButton>
            <IconButton
              label={`Remove ${view.name}`}
              size="row"
              onClick={() => setViews((before) => before.filter((one) => one.name !== view.name))}
            >
              <Trash2 />
            </IconButton>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function placeOf({ address }: View): string {
  return address.replace(/\?.*/, '').replace(/^\/dashboard\/?/, '') || 'overview';
}

function problemIn(name: string, views: readonly View[]): FieldProblem | null {
  if (name === '') return new FieldProblem('name', 'Enter a name.');
  if (views.some((view) => view.name === name))
    return new FieldProblem('name', 'A view with this name already exists.');
  return views.length < viewsMax
    ? null
    : new FieldProblem('name', `There are ${viewsMax} views already. Remove one before you save another.`);
}
