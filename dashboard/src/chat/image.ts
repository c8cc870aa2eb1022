/** Images are sent with each request of their chat: a large one is made smaller. */
const MOST_PIXELS = 1_536;
const MOST_BYTES = 1_000_000;
const AS_THEY_ARE = ["image/png", "image/jpeg", "image/webp", "image/gif"];
export const MOST_IMAGES = 4;

/** An image as a `data:` URL, at most 1,536 pixels wide and high if it has more than 1 MB. Throws for other files. */
export async function imageUrl(file: File): Promise<string> {
  if (file.size <= MOST_BYTES && AS_THEY_ARE.includes(file.type)) return dataUrl(file);
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`${file.name} is not an image that this browser can read. Attach a PNG, JPEG, WebP or GIF.`);
  });
  const scale = Math.min(1, MOST_PIXELS / Math.max(bitmap.width, bitmap.height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(bitmap.width * scale);
  canvas.height = Math.round(bitmap.height * scale);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  return canvas.toDataURL("image/jpeg", 0.85);
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} could not be read. Attach it again.`));
    reader.readAsDataURL(file);
  });
}
