/** Texts and a picture for the development page. */
/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are samples of code */

export const ANSWER = `The fit does not converge because **the noise grows with \`x\`** and every point has the same weight. Three things to change:

1. Pass \`sigma\` to [\`curve_fit\`](https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.curve_fit.html)
2. Start from a *sensible* guess
3. Bound the rate: it must be positive

\`\`\`python
from scipy.optimize import curve_fit

def model(x, amplitude, rate, offset=0.0):
    """An exponential decay."""
    return amplitude * np.exp(-rate * x) + offset

weights = 1 / df["sigma"]  # was missing
popt, pcov = curve_fit(model, df.x, df.y, p0=[1, 0.1], sigma=df["sigma"])
print(f"rate = {popt[1]:.3f}")
\`\`\`

| parameter | before | after | error |
|:--|--:|--:|--:|
| amplitude | 1.00 | 2.31 | 0.04 |
| rate | *diverges* | 0.127 | 0.003 |

> The covariance is singular without the bounds, so treat the old errors as meaningless.

- [x] weights
- [ ] figure for the report
`;

export const DIFF_OLD = `import numpy as np


def model(x, amplitude, rate):
    return amplitude * np.exp(-rate * x)


def fit(df):
    return curve_fit(model, df.x, df.y)
`;

export const DIFF_NEW = `import numpy as np


def model(x, amplitude, rate, offset=0.0):
    """An exponential decay."""
    return amplitude * np.exp(-rate * x) + offset


def fit(df):
    return curve_fit(model, df.x, df.y, p0=[1, 0.1], sigma=df.sigma)
`;

export const PICTURE =
  "iVBORw0KGgoAAAANSUhEUgAAAWgAAAC0CAIAAAA2DCFiAAAE30lEQVR42u3dTXLiMBCAUV9jLjrFOXMcikUWWYYYW78t9aO+dQKy+mEbMnM8n69OPR6Pfj9c0sQOcEgChyRwSAKHJHCAQwIHOCSBQxI4JIFDEjjAIYEDHJLAIQkcksAhCRzgkMABDkngkAQOSeCQBA5J4ACHBA5wSAKHJHBIAockcIBDAgc4JIFDEjgkgUMSOMAhgQMcksAhCRySwCEJHOCQwAEOSeCQBA5J4JAEDkngAIcEDnBIAockcEgChyRwgEMCBzgkgUMSOCSBQxI4wHG3f/+/frIUAgc4PktxnoUSOHTVC4IIHJa4igx8CBzI+CACPgQOcLwqhx8fAgcyvoL8NAkca6gRECMJHHHVWEUlCRzbqjH+F0ngGKfGTkhJ4NhthtkhcFDDqYfAkQCOIEPLDp/ig8N9DXb4VnH0bw+Do8GBd/qjAV6EEgQcm6jhdmkqMqYfZXBspQY7liajkhtwuK/Bjv3J6MQQOAzkzqdFackIrhI4vI2zY1sypvMBjs3nkB15vosx8leDY/8JZEeqr2+NeRrg2H/23CidMq57Px9wpHjHZkceMsY8N3BkGTl2ZFOj6zMER6IbBOxI+x3/5nyAI9dtRXYkVKOHHeBI92EEO7KR0YMPcGT8CBMcOdVoaAc4ko4WO3Kq0eq1gCPvULEjrRr1px7gSD1O7HBjqMwOcLxfR/OgPKtUYAc4sr8Ds8P6FFy2gMN5Ozuy3NRo+JLB4Wrfy6fG7Rd+9FsUcLCDGrtethz9lmYhOMyMdaDGrXUAh2mxGm733Lbj6PcB5Fpw2CUmhxrXL1uyw2GjmB9qFJx6HP3edePDYaOYImqU2QEOGyX7LFGjYKGOflMUHA57xURRo3jFjn6DFBkOe8VcUaNm3Y5+p+7x4bADMiNLjZqOflskLBy2S/IV8xWvxnC0fSuOCYftknzdqNEFjoZ2BITDdkm+etToDkf9soLDTQFqJIKj1UlHNDjsmMyzh4xxcFQucSg4bJrMdlBjEBxNTjoCwuF4Z7PD5cloOOqHLQ4c9k3OgaTGTDiKVzwIHPZNzksAakyDo/KkIwIc9k1CO5r/z+wqhKNs6cHhssWJRlI4amZvOhx2T7ZxpUYgOIovWObCYfekukBweRIXjrsHYyIcdk8eO5ARF46yUQQHProehd+/yBEPB0fBNM6Cwx4KaEfbw/H25zvi4KAGPpCxCxx3x3I8HLbREnYUHKNWP0dz4Lg1nIPhsJlW5KMmC7sSHNftGAmH/ZSKD4sJDhcp+EBGDjguDuowOOyq7QWxXJvAcWVcx8Bhb0krwfFxaAfAQQ1pYTjejm5vOJzKSkvCcT69XeGghrQwHCcz3A8OakjLw/HXJPeAw812aR843trRHA5qSLvB8duOtnBQQ9oTjk7j7etA0uZwNJ9zZEgp4GhlhxMNKRccz4p/cMVfK0h54fi5OepvqCVw3Ibj/CSCGhI4XidfOUeGBI7bcFwXxCGRwGGJJXCAQxI4JIFDEjgkgUMSOMAhgQMcksAhCRySwCEJHOCQwAEOSX/D8fDw8PC4+XDGIcmliiRwSAKHJHCAQwIHOCSBQxI4JIFDEjjAIYEDHJLAIQkcksAhCRzgkMABDkngkAQOSeCQBA5J4ACHBA5wSAKHJHBIAockcIBDAgc4JIFDEjgkBegbw0TCzYmiDOIAAAAASUVORK5CYII=";
