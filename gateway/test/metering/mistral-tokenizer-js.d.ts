declare module "mistral-tokenizer-js" {
  const tokenizer: { encode(text: string, beginningOfText: boolean, spaceBefore: boolean): number[] };
  export default tokenizer;
}
