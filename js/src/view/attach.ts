/** Pictures attached to a message: pasted, dropped or chosen, checked for type and size. */
import type { MessageEmbeddedResourceAttachment } from "../state/types.gen";
import { bytes } from "./plain";

/**
 * Largest size in bytes of one picture, and of all pictures of a message: the notebook's connection carries no more at
 * once.
 */
export const LARGEST = 3 * 1024 * 1024;
export const LARGEST_ALL = 5 * 1024 * 1024;
const KINDS = /^image\/(?:png|jpe?g|gif|webp|avif|bmp)$/i;

export type Picture = MessageEmbeddedResourceAttachment & { size: number };

export interface Taken {
  pictures: Picture[];
  /** The rejected files, and why. */
  trouble: string;
}

export async function takePictures(files: readonly File[], before: readonly Picture[]): Promise<Taken> {
  const pictures: Picture[] = [];
  const troubles: string[] = [];
  let total = before.reduce((sum, one) => sum + one.size, 0);
  for (const file of files) {
    const trouble = refused(file, total);
    if (trouble) troubles.push(trouble);
    else {
      total += file.size;
      pictures.push(await read(file, before.length + pictures.length + 1));
    }
  }
  return { pictures, trouble: troubles.join(" ") };
}

function refused(file: File, total: number): string {
  const name = file.name || "The file";
  if (!KINDS.test(file.type)) return `${name} isn't a picture. To attach a file, mention it: @path.`;
  if (file.size > LARGEST) return `${name} is ${bytes(file.size)}; the limit for a picture is ${bytes(LARGEST)}.`;
  if (total + file.size > LARGEST_ALL)
    return `${name} wasn't added: the limit for all pictures of a message is ${bytes(LARGEST_ALL)}.`;
  return "";
}

function read(file: File, number: number): Promise<Picture> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onerror = () => reject(reader.error ?? new Error(`${file.name} can't be read.`));
    reader.onload = () =>
      resolve({
        type: "embeddedResource",
        label: file.name || `picture ${number}`,
        displayKind: "image",
        contentType: file.type.toLowerCase(),
        data: String(reader.result).replace(/^[^,]*,/, ""),
        size: file.size,
      });
    reader.readAsDataURL(file);
  });
}
