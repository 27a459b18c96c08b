/** Has the browser save what an address answers, under this name. */
export function saveFrom(address: string, fileName: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
}

/** Has the browser save a text under this name. */
export function saveText(text: string, fileName: string, type: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  saveFrom(address, fileName);
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
