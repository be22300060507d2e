/**
 * `floor(bytes × ratio)`, exact. The ratio counts as the decimal that an operator writes: 1.4 is 14/10, not the double
 * beside it, which would promise a byte less wherever the product is whole.
 *
 * @param ratio finite, at least 1
 */
export function overcommittedBytes(bytes: bigint, ratio: number): bigint {
  const [mantissa = "", exponent = "0"] = ratio.toString().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = BigInt(whole + fraction);
  const power = Number(exponent) - fraction.length;
  return power >= 0 ? bytes * digits * 10n ** BigInt(power) : (bytes * digits) / 10n ** BigInt(-power);
}
