import { useMutation } from '@tanstack/react-query';
import type { Caller } from '../../api/caller.ts';
import { send } from '../../api/request.ts';
import { Button } from '../../parts/button.tsx';
import { saveFrom } from '../../parts/forms/save.ts';

interface SaveButtonProps {
  caller: Caller;
  path: string;
  fileName: string;
  children: string;
}

/** Saves a content that only the headers of the key open. */
export function SaveButton({ caller, path, fileName, children }: SaveButtonProps) {
  const save = useMutation({
    async mutationFn() {
      const response = await send('GET', path, { headers: caller.headers });
      const address = URL.createObjectURL(await response.blob());
      saveFrom(address, fileName);
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
    },
  });
  return (
    <>
      <Button size="row" busy={save.isPending} onClick={() => save.mutate()}>
        {children}
      </Button>
      {save.error !== null && (
        <span role="alert" className="text-bad text-xs">
          {save.error.message}
        </span>
      )}
    </>
  );
}
