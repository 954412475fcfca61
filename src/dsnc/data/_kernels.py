"""The loop of svmlight files: words to numbers."""

import numpy as np

from dsnc.codes._kernels.tools import kernel

_PLUS, _MINUS, _POINT, _ZERO, _UPPER_E, _LOWER_E, _BLANK = b"+-.0Ee "
_EXACT = 1 << 53  # up to here a float64 holds every whole number,
_POWERS = 10.0 ** np.arange(23)  # and these powers of ten


@kernel
def read_numbers(text, starts, numbers):
    """Write the number that begins at each start; tell whether all are exact.

    A whole number that float64 holds, times or by a power of ten that it holds, is rounded once:
    it is the nearest there is, as `float` finds it. A number of more digits or of a larger power
    is not exact, and what is no number at all is not either. The text ends with a blank.
    """
    for i in range(len(starts)):
        place = starts[i]
        is_negative = text[place] == _MINUS
        if is_negative or text[place] == _PLUS:
            place += 1
        digits, n_digits, power, point = 0, 0, 0, False
        while True:
            digit = np.int64(text[place]) - _ZERO
            if 0 <= digit <= 9:
                digits = 10 * digits + digit
                if digits > _EXACT:
                    return False
                n_digits += 1
                power -= point
            elif text[place] == _POINT and not point:
                point = True
            else:
                break
            place += 1
        if n_digits and (text[place] == _LOWER_E or text[place] == _UPPER_E):
            place += 1
            sign = -1 if text[place] == _MINUS else 1
            if text[place] == _MINUS or text[place] == _PLUS:
                place += 1
            n_digits, exponent = 0, 0
            while _ZERO <= text[place] <= _ZERO + 9 and n_digits < 4:
                exponent = 10 * exponent + np.int64(text[place]) - _ZERO
                n_digits += 1
                place += 1
            power += sign * exponent
        if not n_digits or text[place] > _BLANK or abs(power) >= len(_POWERS):
            return False
        number = digits * _POWERS[power] if power >= 0 else digits / _POWERS[-power]
        numbers[i] = -number if is_negative else number
    return True
